package rest

import (
	"slices"
	"unsafe"

	"github.com/houseful/houseful/fsm"
)

// Most holds are plain: an object of showId, userId and seats, its texts ASCII without escapes. Reading those in one
// pass costs a fraction of checking and parsing any JSON. Whatever is not plain, errors included, goes the long way;
// FuzzHoldPlain holds the two against each other.

// plainReader walks a body. ok turns false at the first thing that is not plain.
type plainReader struct {
	body []byte
	at   int
	ok   bool
}

// readPlainHold reads a plain hold into c.hold, and reports whether it did. Otherwise c.hold is to be read again.
func (c *Call) readPlainHold(body []byte) bool {
	h := &c.hold
	h.command.Clear()
	h.seats.labels, h.seats.seatIDs = h.seats.labels[:0], h.seats.seatIDs[:0]
	r := plainReader{body: body, ok: true}
	r.expect('{')
	for more := true; more && r.ok; more = r.moreOr('}') {
		name := r.text()
		r.expect(':')
		switch {
		case name == "showId" && h.command.ShowId == "":
			h.command.ShowId = r.id()
		case name == "userId" && h.command.UserId == "":
			h.command.UserId = r.id()
		case name == "seats" && len(h.seats.labels) == 0:
			h.seats.labels = r.labels(h.seats.labels)
		default:
			return false
		}
	}
	r.space()
	if !r.ok || r.at != len(body) || h.command.ShowId == "" || h.command.UserId == "" || len(h.seats.labels) == 0 {
		return false
	}
	slices.Sort(h.seats.labels)
	for i := 1; i < len(h.seats.labels); i++ {
		if h.seats.labels[i] == h.seats.labels[i-1] {
			return false
		}
	}
	h.command.Labels = h.seats.labels
	h.contact.Email, h.contact.Phone, h.contact.Locale = "", "", ""
	return true
}

func (r *plainReader) space() {
	for r.at < len(r.body) {
		switch r.body[r.at] {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return
		}
	}
}

// next gives the next byte that is not white space, without taking it; 0 at the end.
func (r *plainReader) next() byte {
	r.space()
	if r.at == len(r.body) {
		return 0
	}
	return r.body[r.at]
}

func (r *plainReader) expect(c byte) {
	if r.next() != c {
		r.ok = false
		return
	}
	r.at++
}

// moreOr takes a comma, after which more must follow, or the end.
func (r *plainReader) moreOr(end byte) bool {
	switch r.next() {
	case ',':
		r.at++
		return true
	case end:
		r.at++
		return false
	}
	r.ok = false
	return false
}

// text takes a string of printable ASCII without escapes. It is a view of the body.
func (r *plainReader) text() string {
	if r.expect('"'); !r.ok {
		return ""
	}
	start := r.at
	for r.at < len(r.body) {
		switch c := r.body[r.at]; {
		case c == '"':
			r.at++
			return bytesView(r.body[start : r.at-1])
		case c < ' ' || c >= 0x7f || c == '\\':
			r.ok = false
			return ""
		}
		r.at++
	}
	r.ok = false
	return ""
}

// id takes an id: a string, or a whole number without sign, fraction or leading zero.
func (r *plainReader) id() string {
	id := ""
	if c := r.next(); c == '"' {
		id = r.text()
	} else {
		start := r.at
		for r.at < len(r.body) && r.body[r.at] >= '0' && r.body[r.at] <= '9' {
			r.at++
		}
		id = bytesView(r.body[start:r.at])
		if len(id) > 1 && id[0] == '0' {
			r.ok = false
		}
	}
	if !validID(id) {
		r.ok = false
	}
	return id
}

// labels takes a list of seat labels, at least one and no more than a booking may have.
func (r *plainReader) labels(dst []string) []string {
	r.expect('[')
	for more := true; more && r.ok; more = r.moreOr(']') {
		label := r.text()
		if !r.ok || !validSeatLabel(label) || len(dst) == fsm.SeatsPerBookingMax {
			r.ok = false
			return dst
		}
		dst = append(dst, label)
	}
	return dst
}

func bytesView(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
