package seal

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
)

// Visitors makes and opens the texts by which a room knows a browser whose user has
// not signed in. Each is new and random, so that it cannot be made up or guessed.
type Visitors struct{ sealer *sealer }

// NewVisitors makes a Visitors with the keys of a ring.
func NewVisitors(ring *Ring) *Visitors {
	return &Visitors{sealer: newSealer(ring, "visitor", plainSize)}
}

// Issue makes the text of a new visitor, and the user that it stands for.
func (v *Visitors) Issue() (text, user string) {
	var id [plainSize]byte
	rand.Read(id[:]) //nolint:errcheck // it never fails
	p := readPayload(id[:])
	return string(v.sealer.seal(nil, p, "", "")), userOf(p)
}

// Open returns the user of a text that Issue made. Errors are the sentinels of this
// package.
func (v *Visitors) Open(text string) (user string, err error) {
	p, err := v.sealer.open(text, "", "")
	if err != nil {
		return "", err
	}
	return userOf(p), nil
}

func userOf(p payload) string {
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, p.a), uint64(p.b))
	return base64.RawURLEncoding.EncodeToString(b)
}
