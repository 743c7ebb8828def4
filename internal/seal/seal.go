package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"sync"
)

// A sealed text is the base64url of
//
//	key id (4 bytes) | payload | the first 16 bytes of HMAC-SHA256(key, bound)
//
// where bound is the key id, the payload, the length of the event (8 bytes), the
// event, and the subject, which takes the rest. All sizes are multiples of 3, so
// that no bit of the text is without a meaning.
const (
	idSize  = 4
	macSize = 16
)

// sealer seals payloads of one size for one purpose.
type sealer struct {
	keys    []*Key
	payload int
	states  []*sync.Pool // of *state, for each key
}

// state is the working memory of a sealing or an opening; pooled, because setting
// up an HMAC costs more than computing it.
type state struct {
	mac   hash.Hash
	bound []byte
	raw   []byte
	text  []byte
	sum   []byte
}

func newSealer(ring *Ring, purpose string, payload int) *sealer {
	s := &sealer{keys: Keys(ring, purpose), payload: payload}
	for _, k := range s.keys {
		s.states = append(s.states, &sync.Pool{New: func() any {
			return &state{mac: hmac.New(sha256.New, k.Secret())}
		}})
	}
	return s
}

func (s *sealer) size() int { return base64.RawURLEncoding.EncodedLen(idSize + s.payload + macSize) }

// compute leaves the MAC of the head (key id and payload) in st.sum.
func (st *state) compute(head []byte, event, subject string) []byte {
	st.bound = append(st.bound[:0], head...)
	st.bound = binary.BigEndian.AppendUint64(st.bound, uint64(len(event)))
	st.bound = append(st.bound, event...)
	st.bound = append(st.bound, subject...)
	st.mac.Reset()
	st.mac.Write(st.bound)
	st.sum = st.mac.Sum(st.sum[:0])
	return st.sum[:macSize]
}

// seal appends the sealed text to dst.
func (s *sealer) seal(dst []byte, p payload, event, subject string) []byte {
	st := s.states[0].Get().(*state)
	st.raw = p.appendTo(append(st.raw[:0], s.keys[0].id[:]...))
	st.raw = append(st.raw, st.compute(st.raw, event, subject)...)
	dst = base64.RawURLEncoding.AppendEncode(dst, st.raw)
	s.states[0].Put(st)
	return dst
}

// open checks a sealed text and reads its payload.
func (s *sealer) open(text, event, subject string) (payload, error) {
	if text == "" {
		return payload{}, ErrMissing
	}
	if len(text) != s.size() {
		return payload{}, ErrMalformed
	}
	// The text names its key, and a state of any key can decode the text.
	st := s.states[0].Get().(*state)
	defer s.states[0].Put(st)
	st.text = append(st.text[:0], text...)
	var err error
	if st.raw, err = base64.RawURLEncoding.AppendDecode(st.raw[:0], st.text); err != nil || len(st.raw) != idSize+s.payload+macSize {
		return payload{}, ErrMalformed // AppendDecode passes over line breaks: hence the size
	}
	head, mac := st.raw[:idSize+s.payload], st.raw[idSize+s.payload:]
	for i, k := range s.keys {
		if [idSize]byte(head) != k.id {
			continue
		}
		other := st
		if i > 0 {
			other = s.states[i].Get().(*state)
			defer s.states[i].Put(other)
		}
		if hmac.Equal(mac, other.compute(head, event, subject)) {
			return readPayload(head[idSize:]), nil
		}
	}
	return payload{}, ErrSignature
}

// payload is the content of sealed texts: two numbers, and for some a time.
type payload struct {
	a     uint64
	b     int64
	timed bool
	ms    int64 // since 1970, 48 bits
}

const (
	plainSize = 16
	timedSize = 22
)

func (p payload) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, p.a)
	b = binary.BigEndian.AppendUint64(b, uint64(p.b))
	if p.timed {
		b = binary.BigEndian.AppendUint16(b, uint16(p.ms>>32))
		b = binary.BigEndian.AppendUint32(b, uint32(p.ms))
	}
	return b
}

func readPayload(b []byte) payload {
	p := payload{a: binary.BigEndian.Uint64(b), b: int64(binary.BigEndian.Uint64(b[8:]))}
	if len(b) == timedSize {
		p.timed = true
		p.ms = int64(binary.BigEndian.Uint16(b[16:]))<<32 | int64(binary.BigEndian.Uint32(b[18:]))
	}
	return p
}
