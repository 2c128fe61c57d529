package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// connection is one keep-alive connection: a request is written whole, its answer read whole, then the next. It
// belongs to one worker at a time and dials when it has to. Only interrupt may be called beside the worker.
type connection struct {
	address string
	reader  *responseReader

	mutex    sync.Mutex // guards the fields below against interrupt
	socket   net.Conn
	deadline time.Time
}

// newConnections makes a set of connections to one server; none is dialled yet.
func newConnections(address string, count int) []*connection {
	connections := make([]*connection, count)
	for i := range connections {
		connections[i] = &connection{address: address, reader: newResponseReader(nil)}
	}
	return connections
}

// setDeadline ends every exchange at the given time. One deadline for a whole slot: a timer for each request would
// be a good part of what the client costs.
func (c *connection) setDeadline(deadline time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.deadline = deadline
	if c.socket != nil {
		_ = c.socket.SetDeadline(deadline) // a socket that refuses fails at its next exchange
	}
}

// interrupt makes the exchange under way fail at once.
func (c *connection) interrupt() { c.setDeadline(time.Unix(1, 0)) }

// connected dials if there is no usable socket.
func (c *connection) connected(ctx context.Context) error {
	if c.socket != nil {
		return nil
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	socket, err := dialer.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	c.mutex.Lock()
	c.socket = socket
	_ = socket.SetDeadline(c.deadline)
	c.mutex.Unlock()
	c.reader.reset(socket)
	return nil
}

// exchange sends the request and reads its answer into answer. connected must have succeeded before. An error means
// that the outcome is unknown: the request, or a part of it, may have arrived.
func (c *connection) exchange(request []byte, answer *response) error {
	if _, err := c.socket.Write(request); err != nil {
		c.hangUp()
		return fmt.Errorf("sending: %w", err)
	}
	if err := c.reader.next(answer); err != nil {
		c.hangUp()
		return fmt.Errorf("receiving: %w", err)
	}
	if answer.close {
		c.hangUp()
	}
	return nil
}

// hangUp closes the socket, if there is one.
func (c *connection) hangUp() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.socket != nil {
		_ = c.socket.Close() // nothing is waiting to be sent
		c.socket = nil
	}
}

// hangUpAll closes a set of connections.
func hangUpAll(connections []*connection) {
	for _, c := range connections {
		c.hangUp()
	}
}
