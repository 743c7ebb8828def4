package driver

import (
	"encoding/binary"
	"errors"
)

// MaxMessage is the longest encoded message, in bytes.
const MaxMessage = 1 << 20

const messageVersion = 1

var errMessage = errors.New("sse: not a message of this version")

// Append adds the message to b, in the form that ParseMessage reads.
func (m Message) Append(b []byte) []byte {
	b = append(b, messageVersion, byte(m.Kind))
	for _, s := range [...]string{m.To, m.Arg, m.Event, m.ID} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return append(b, m.Frame...)
}

// ParseMessage reads the output of Append. The frame is a part of b, which must not
// be changed afterwards.
func ParseMessage(b []byte) (Message, error) {
	if len(b) < 2 || len(b) > MaxMessage || b[0] != messageVersion {
		return Message{}, errMessage
	}
	m := Message{Kind: Kind(b[1])}
	if m.Kind < ToMember || m.Kind > Answer {
		return Message{}, errMessage
	}
	b = b[2:]
	for _, s := range [...]*string{&m.To, &m.Arg, &m.Event, &m.ID} {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return Message{}, errMessage
		}
		*s = string(b[used : used+int(n)])
		b = b[used+int(n):]
	}
	if len(b) > 0 {
		m.Frame = b
	}
	return m, nil
}

// Size is the most that Append adds.
func (m Message) Size() int {
	return 2 + 4*binary.MaxVarintLen32 + len(m.To) + len(m.Arg) + len(m.Event) + len(m.ID) + len(m.Frame)
}
