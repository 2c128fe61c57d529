package cluster

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/houseful/houseful/fsm"
)

// Fields of wire.Command and wire.MetaCommand. Both are written here by hand, so that a command costs no allocation
// for the message around its body; a test reads every kind back.
const (
	fieldID       = 1
	fieldNotAfter = 2

	fieldPutShow         = 10
	fieldBrowseSent      = 11
	fieldHold            = 12
	fieldConfirm         = 13
	fieldRelease         = 14
	fieldExtend          = 15
	fieldCancel          = 16
	fieldBlock           = 17
	fieldControlShow     = 18
	fieldClaim           = 20
	fieldRefuseReference = 21
	fieldReadBooking     = 22
	fieldFindByKey       = 23

	fieldBirth           = 10
	fieldPutNode         = 11
	fieldPutCity         = 12
	fieldPutMovie        = 13
	fieldPutTheatre      = 14
	fieldPutScreen       = 15
	fieldPutShowEntry    = 16
	fieldRemoveShowEntry = 17
)

const (
	wireVarint = 0
	wireBytes  = 2
)

// body is the body of a command.
type body interface {
	SizeVT() int
	MarshalToSizedBufferVT(data []byte) (int, error)
}

// appendCommand appends an encoded command: its id, its notAfter, and its body as the given field.
func appendCommand(dst []byte, id fsm.CommandID, notAfter fsm.Time, field uint64, body body) ([]byte, error) {
	dst = append(dst, fieldID<<3|wireBytes, byte(len(id)))
	dst = append(dst, id[:]...)
	dst = append(dst, fieldNotAfter<<3|wireVarint)
	dst = binary.AppendUvarint(dst, uint64(notAfter))
	size := body.SizeVT()
	dst = binary.AppendUvarint(dst, field<<3|wireBytes)
	dst = binary.AppendUvarint(dst, uint64(size))
	head := len(dst)
	dst = slices.Grow(dst, size)[:head+size]
	_, err := body.MarshalToSizedBufferVT(dst[head:])
	return dst, err
}

// buffers are for encoded commands; a group does not keep one after Propose.
type buffers struct{ pool sync.Pool }

// bufferBytesMax is the largest buffer that is kept: a show of 100,000 seats is not worth it.
const bufferBytesMax = 16 << 10

func (b *buffers) take() *[]byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return buffer
	}
	buffer := make([]byte, 0, 512)
	return &buffer
}

func (b *buffers) give(buffer *[]byte) {
	if cap(*buffer) <= bufferBytesMax {
		*buffer = (*buffer)[:0]
		b.pool.Put(buffer)
	}
}
