package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/houseful/houseful/fsm"
)

// digest is the first half of a SHA-256: enough that nobody finds two keys or two bodies with one digest.
type digest [16]byte

// idempotencyKey gives the request's idempotency key (M-16), empty when there is none. It may come under two names.
func (c *Call) idempotencyKey() ([]byte, error) {
	const name, otherName = "Idempotency-Key", "X-Idempotency-Key"
	key, other := c.headers.idempotencyKey, c.headers.xIdempotencyKey
	switch {
	case key == nil && other == nil:
		return nil, nil
	case key == nil:
		key = other
	case other != nil && !bytes.Equal(key, other):
		return nil, invalid(name, "and %s differ; send one of them", otherName)
	}
	if !validIdempotencyKey(key) {
		return nil, invalid(name, "must be 1 to %d visible ASCII characters", IdempotencyKeyCharsMax)
	}
	return key, nil
}

func validIdempotencyKey(key []byte) bool {
	for _, ch := range key {
		if ch <= ' ' || ch >= 0x7f {
			return false
		}
	}
	return len(key) > 0 && len(key) <= IdempotencyKeyCharsMax
}

// keyDigest names an idempotency key in the log: keys belong to a caller and a show. Every part carries its length,
// so that no two triples look alike.
func (c *Call) keyDigest(show fsm.ShowID, key []byte) digest {
	dst := appendSized(c.scratch[:0], c.principal.ID)
	dst = appendSized(dst, string(show))
	dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
	return c.digestOf(dst)
}

// fingerprint names what a hold asked for: the parsed command, its seats sorted. The order of fields and seats, and
// white space, make no difference.
func (c *Call) fingerprint(h *holdRequest) digest {
	dst := appendSized(c.scratch[:0], h.command.ShowId)
	dst = appendSized(dst, h.command.UserId)
	dst = appendSized(dst, h.command.UserName)
	dst = appendSized(dst, h.contact.Email)
	dst = appendSized(dst, h.contact.Phone)
	dst = appendSized(dst, h.contact.Locale)
	dst = append(binary.AppendUvarint(dst, uint64(len(h.command.Replace))), h.command.Replace...)
	dst = binary.AppendUvarint(dst, uint64(len(h.seats.labels)))
	for _, label := range h.seats.labels {
		dst = appendSized(dst, label)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.seats.seatIDs)))
	for _, id := range h.seats.seatIDs {
		dst = binary.AppendUvarint(dst, uint64(id))
	}
	return c.digestOf(dst)
}

// digestOf digests dst and keeps its memory for the next one.
func (c *Call) digestOf(dst []byte) digest {
	c.scratch = dst
	sum := sha256.Sum256(dst)
	return digest(sum[:len(digest{})])
}

func appendSized(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
