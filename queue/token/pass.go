package token

import "github.com/millrace-go/millrace/internal/tokens"

// Pass is one request that a trusted edge lets through: a program before the site that has
// keys of its own, and adds the signed pass in a header, so that the request needs no entry
// token. See Config.PassKeys of package queuehttp.
type Pass struct {
	Method string
	Path   string // as it is on the wire, without the query
	Event  string
	User   string
}

// Sign returns the text of the pass, which is valid around now:
//
//	<key id>.<seconds since 1970>.<base64url of HMAC-SHA256(key, text)>
//	text    method, path, event, user, seconds, joined by line feeds
//	key     HMAC-SHA256(secret, "millrace/queue/pass")
//	key id  the first 4 bytes of HMAC-SHA256(key, "id"), in hexadecimal
//
// It can be used again for the same request of the same user for 30 s. No part may hold a
// line feed: such a pass is never valid.
func (p Pass) Sign(keys *Ring) string { return tokens.NewPasses(keys).Sign(tokens.Pass(p)) }
