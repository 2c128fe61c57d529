package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/valyala/fasthttp"
)

// echoAnswer is what the echo gives to the requests of one step: an answer of the real server, word for word.
type echoAnswer struct {
	PathSuffix string      `json:"pathSuffix"` // empty: any path
	Status     int         `json:"status"`
	Headers    [][2]string `json:"headers"`
	Body       []byte      `json:"body"`
	NoServer   bool        `json:"noServer"`      // the real one sends no Server header
	NoDate     bool        `json:"noDate"`        // … no Date
	NoType     bool        `json:"noContentType"` // … no Content-Type
}

// takeSamples asks the real server a few times for every step and gives, of each, the answer of median length.
func takeSamples(ctx context.Context, load workload, address string) ([]echoAnswer, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	socket, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("sampling answers: %w", err)
	}
	defer socket.Close()
	if err := socket.SetDeadline(time.Now().Add(prepareTimeout)); err != nil {
		return nil, fmt.Errorf("sampling answers: %w", err)
	}
	steps := load.steps()
	samples := make([][]*fasthttp.Response, len(steps))
	asked, reader := load.session(sideReal, 0), bufio.NewReader(socket)
	for range samplesPerStep * len(steps) {
		request, at, ok := asked.next(nil)
		if !ok {
			return nil, fmt.Errorf("sampling answers: no requests left")
		}
		answer, err := sampleOne(socket, reader, request)
		if err != nil {
			return nil, fmt.Errorf("sampling the answer to %s: %w", steps[at].name, err)
		}
		asked.answered(outcomeDone, &response{status: answer.StatusCode(), body: answer.Body()})
		samples[at] = append(samples[at], answer)
	}
	answers := make([]echoAnswer, len(steps))
	for i, step := range steps {
		if len(samples[i]) == 0 {
			return nil, fmt.Errorf("sampling the answer to %s: it was never asked", step.name)
		}
		slices.SortFunc(samples[i], func(a, b *fasthttp.Response) int { return len(a.Body()) - len(b.Body()) })
		answers[i] = newEchoAnswer(step, samples[i][len(samples[i])/2])
	}
	return answers, nil
}

// sampleOne makes one exchange. An error answer is no sample.
func sampleOne(socket net.Conn, reader *bufio.Reader, request []byte) (*fasthttp.Response, error) {
	if _, err := socket.Write(request); err != nil {
		return nil, err
	}
	answer := &fasthttp.Response{}
	if err := answer.ReadLimitBody(reader, bodyMax); err != nil {
		return nil, err
	}
	answer.Header.SetNoDefaultContentType(true) // else it makes one up where the answer has none
	if answer.StatusCode() >= 400 {
		return nil, fmt.Errorf("%w: %d %s", errRefused, answer.StatusCode(), answer.Body())
	}
	return answer, nil
}

// newEchoAnswer copies an answer. Length, date and connection are the echo's own to write.
func newEchoAnswer(step step, answer *fasthttp.Response) echoAnswer {
	echo := echoAnswer{
		PathSuffix: step.pathSuffix, Status: answer.StatusCode(), Body: append([]byte(nil), answer.Body()...),
		NoServer: true, NoDate: true, NoType: true,
	}
	for key, value := range answer.Header.All() {
		switch string(key) {
		case fasthttp.HeaderContentLength, fasthttp.HeaderConnection, fasthttp.HeaderTransferEncoding:
			continue
		case fasthttp.HeaderDate:
			echo.NoDate = false
			continue
		case fasthttp.HeaderServer:
			echo.NoServer = false
		case fasthttp.HeaderContentType:
			echo.NoType = len(value) == 0
		}
		echo.Headers = append(echo.Headers, [2]string{string(key), string(value)})
	}
	return echo
}
