package rest

import (
	"bytes"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"

	"github.com/houseful/houseful/fsm"
)

// Role is what a caller may do. Each route names the least it needs.
type Role uint8

// The roles. They are no ladder: see permits.
const (
	RolePublic Role = iota
	RoleBuyer
	RoleSeller
	RoleStaff
	RoleObserver
	RoleAdmin
)

var roleNames = [...]string{"public", "buyer", "seller", "staff", "observer", "admin"}

func (r Role) String() string { return roleNames[r] }

// permits reports whether a caller of role r may use a route that needs another: everybody the public ones, a seller
// the buyer's, an admin all. What is not listed is refused.
func (r Role) permits(need Role) bool {
	return need == RolePublic || r == need || r == RoleAdmin || (r == RoleSeller && need == RoleBuyer)
}

// Principal is who calls.
type Principal struct {
	Role Role
	// ID names the caller: the key, or the buyer. Idempotency keys belong to it.
	ID string
	// User is set for a buyer, who acts for nobody else.
	User fsm.UserID
}

// openPrincipal is everybody while there are no keys.
var openPrincipal = Principal{Role: RoleAdmin, ID: "open"}

// mayActFor reports whether the caller may act for a user.
func (p *Principal) mayActFor(user fsm.UserID) bool { return p.Role != RoleBuyer || p.User == user }

// authenticate names the caller. Without keys everything is open to whoever reaches the loopback interface under a
// loopback name: a foreign name means that a page of another site had its own name resolve to us.
func (s *Server) authenticate(c *Call) (Principal, *apiError) {
	if !loopbackHost(c.host()) {
		return Principal{}, refuse(fasthttp.StatusForbidden, codeForbidden,
			"without keys this server answers only under a loopback name such as localhost or 127.0.0.1")
	}
	if len(c.headers.authorization) > 0 {
		return Principal{}, refuse(fasthttp.StatusUnauthorized, codeUnauthenticated,
			"this server has no keys, so these credentials cannot be verified; send none")
	}
	if !c.safeMethod() && !s.trustedOrigin(c) {
		return Principal{}, refuse(fasthttp.StatusForbidden, codeForbidden,
			"a page of another origin may not change anything here; start the server with --cors-origin to allow it")
	}
	return openPrincipal, nil
}

// trustedOrigin reports whether a request comes from no page, from a page of this server, or from a listed origin.
func (s *Server) trustedOrigin(c *Call) bool {
	origin := c.headers.origin
	if len(origin) == 0 {
		return true
	}
	_, listed := s.corsOrigins[string(origin)]
	return listed || sameOrigin(origin, c.host())
}

// loopbackHost reports whether a Host header names this machine: localhost, 127.0.0.0/8 or [::1], with or without a
// port.
func loopbackHost(host []byte) bool {
	name, port, bracketed := host, []byte(nil), bytes.HasPrefix(host, []byte("["))
	if bracketed {
		end := bytes.IndexByte(host, ']')
		if end < 0 {
			return false
		}
		name, port = host[1:end], host[end+1:]
	} else if colon := bytes.IndexByte(host, ':'); colon >= 0 {
		name, port = host[:colon], host[colon:]
	}
	if !portOrNothing(port) {
		return false
	}
	if !bracketed && (string(name) == "127.0.0.1" || bytes.EqualFold(name, []byte("localhost"))) {
		return true
	}
	address, err := netip.ParseAddr(string(name))
	return err == nil && address.IsLoopback() && address.Zone() == "" && !address.Is4In6() && address.Is6() == bracketed
}

// portOrNothing reports whether text is empty or a colon and a number.
func portOrNothing(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	if text[0] != ':' || len(text) == 1 || len(text) > len(":65535") {
		return false
	}
	for _, c := range text[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// loopbackListener reports whether an address can be reached from this machine only.
func loopbackListener(address net.Addr) bool {
	if tcp, ok := address.(*net.TCPAddr); ok {
		return tcp.IP.IsLoopback()
	}
	_, unix := address.(*net.UnixAddr)
	return unix
}
