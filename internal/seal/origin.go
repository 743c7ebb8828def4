package seal

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Forwarded is one request that a gate hands on to the program behind it.
type Forwarded struct {
	Method string
	Host   string // as the visitor sent it
	Target string // path and query, as they are on the wire
	Event  string
	User   string // empty for a request that needs no place
}

// Origins signs and checks the requests that a gate hands on, so that the program
// behind it can tell them from requests that went past the gate. A signature is
//
//	<key id>.<base64url of HMAC-SHA256(key, text)>
//	text    method, host, target, event, user, seconds since 1970, joined by line feeds
//	key     HMAC-SHA256(secret, "millrace/queue/origin")
//	key id  the first 4 bytes of HMAC-SHA256(key, "id"), in hexadecimal
//
// It can be used again for the same request of the same user for 30 s.
type Origins struct{ keys []*Key }

// NewOrigins makes an Origins with the keys of a ring.
func NewOrigins(ring *Ring) *Origins { return &Origins{keys: Keys(ring, "origin")} }

// Sign returns the time of the signature, in seconds since 1970, and the signature.
func (o *Origins) Sign(f Forwarded) (at, signature string) {
	at = strconv.FormatInt(time.Now().Unix(), 10)
	k := o.keys[0]
	return at, k.Name + "." + base64.RawURLEncoding.EncodeToString(Sum(k.Secret(), f.text(at)))
}

// Check says whether a signature is of this request, near its time: nil, or a
// sentinel of this package.
func (o *Origins) Check(f Forwarded, at, signature string) error {
	if signature == "" {
		return ErrMissing
	}
	const most = 128
	id, mac, ok := strings.Cut(signature, ".")
	if !ok || len(signature) > most || strings.ContainsAny(signature, "\r\n") { // the decoder passes over line breaks
		return ErrMalformed
	}
	for _, part := range [...]string{f.Method, f.Host, f.Target, f.Event, f.User} {
		if strings.Contains(part, "\n") {
			return ErrMalformed // another request could have the same text
		}
	}
	return CheckTimed(o.keys, id, at, mac, f.text(at))
}

func (f Forwarded) text(at string) string {
	return strings.Join([]string{f.Method, f.Host, f.Target, f.Event, f.User, at}, "\n")
}
