package auth

import (
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

const (
	entryType     = "entry+jwt"
	entryAudience = "boxoffice-seats"
	// EntryHeader carries the entry token, and wins over the cookie.
	EntryHeader = "x-queue-entry-token"
	// EntryCookie is the cookie's name before the event's id.
	EntryCookie = "urr-entry-token-"
)

// Entry issues and checks the tokens of those whom the waiting room admitted.
type Entry struct {
	keys  ring
	lasts time.Duration
}

// NewEntry makes an Entry. The first secret signs and all verify; each needs at
// least 32 bytes.
func NewEntry(secrets []string, lasts time.Duration) (*Entry, error) {
	keys, err := newRing("entry", secrets)
	if err != nil {
		return nil, err
	}
	return &Entry{keys: keys, lasts: lasts}, nil
}

type entryClaims struct {
	Member string `json:"uid"`
	jwt.RegisteredClaims
}

// Issue admits a member to an event.
func (e *Entry) Issue(member, event string) (string, error) {
	now := time.Now()
	return e.keys.sign(entryType, entryClaims{Member: member, RegisteredClaims: jwt.RegisteredClaims{
		Issuer: issuer, Audience: jwt.ClaimStrings{entryAudience}, Subject: event,
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(e.lasts)), ID: uuid.NewString(),
	}})
}

// Lasts is how long a token is valid.
func (e *Entry) Lasts() time.Duration { return e.lasts }

// Check says why the request's entry token does not admit the member to the
// event, or nil.
func (e *Entry) Check(r *http.Request, member, event string) error {
	var claims entryClaims
	if err := e.keys.verify(entryToken(r, event), entryType, entryAudience, &claims); err != nil {
		return err
	}
	switch {
	case claims.Subject != event:
		return ErrEvent
	case claims.Member != member:
		return ErrUser
	}
	return nil
}

// SetCookie gives the token to a browser.
func (e *Entry) SetCookie(w http.ResponseWriter, r *http.Request, event, token string) {
	http.SetCookie(w, e.cookie(r, event, token, int(e.lasts.Seconds())))
}

// ClearCookie takes it back.
func (e *Entry) ClearCookie(w http.ResponseWriter, r *http.Request, event string) {
	http.SetCookie(w, e.cookie(r, event, "", -1))
}

func (e *Entry) cookie(r *http.Request, event, token string, age int) *http.Cookie {
	return &http.Cookie{
		Name: EntryCookie + event, Value: token, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
}

// entryToken takes the header when there is one, even an empty one.
func entryToken(r *http.Request, event string) string {
	if values := r.Header.Values(EntryHeader); len(values) > 0 {
		return values[0]
	}
	if c, err := r.Cookie(EntryCookie + event); err == nil {
		return c.Value
	}
	return ""
}
