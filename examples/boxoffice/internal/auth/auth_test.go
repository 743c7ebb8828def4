package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/token"
)

const (
	secretA = "0123456789abcdef0123456789abcdef"
	secretB = "fedcba9876543210fedcba9876543210"
)

func newLogin(t *testing.T, secret string) *Login {
	t.Helper()
	l, err := NewLogin(secret)
	require.NoError(t, err)
	return l
}

func request(header, value string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if header != "" {
		r.Header.Set(header, value)
	}
	return r
}

func member(l *Login, token string) (string, error) {
	return l.Member(request("Authorization", "Bearer "+token))
}

// forge signs claims with the real key.
func forge(t *testing.T, k key, method jwt.SigningMethod, typ string, claims jwt.Claims) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, claims)
	tok.Header["typ"], tok.Header["kid"] = typ, k.id
	var with any = k.secret
	if method == jwt.SigningMethodNone {
		with = jwt.UnsafeAllowNoneSignatureType
	}
	s, err := tok.SignedString(with)
	require.NoError(t, err)
	return s
}

func TestLoginToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogin(t, secretA)
		signed, expires, err := l.Issue("ann")
		if err != nil || !expires.After(time.Now().Add(23*time.Hour)) {
			t.Fatal(expires, err)
		}
		if got, err := member(l, signed); got != "ann" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		for name, c := range map[string]struct {
			header string
			want   error
		}{
			"no header":    {"", ErrMissing},
			"other scheme": {"Basic " + signed, ErrMissing},
			"empty":        {"Bearer ", ErrMissing},
			"no token":     {"Bearer x", ErrMalformed},
			"three parts":  {"Bearer a.b.c", ErrMalformed},
		} {
			r := request("", "")
			if c.header != "" {
				r.Header.Set("Authorization", c.header)
			}
			if _, err := l.Member(r); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		if _, err := member(newLogin(t, secretB), signed); !errors.Is(err, ErrSignature) {
			t.Errorf("another secret: %v", err)
		}
		k := l.key
		good := jwt.RegisteredClaims{Issuer: issuer, Audience: jwt.ClaimStrings{loginAudience}, Subject: "ann", ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour))}
		other := good
		other.Audience = jwt.ClaimStrings{"elsewhere"}
		for name, c := range map[string]struct {
			token string
			want  error
		}{
			"right":             {forge(t, k, jwt.SigningMethodHS256, loginType, good), nil},
			"another key":       {forge(t, key{k.id, []byte(secretB)}, jwt.SigningMethodHS256, loginType, good), ErrSignature},
			"unknown key id":    {forge(t, key{"x", k.secret}, jwt.SigningMethodHS256, loginType, good), ErrSignature},
			"HS512":             {forge(t, k, jwt.SigningMethodHS512, loginType, good), ErrAlgorithm},
			"none":              {forge(t, k, jwt.SigningMethodNone, loginType, good), ErrAlgorithm},
			"another type":      {forge(t, k, jwt.SigningMethodHS256, "JWT", good), ErrType},
			"another audience":  {forge(t, k, jwt.SigningMethodHS256, loginType, other), ErrType},
			"unknown algorithm": {"eyJhbGciOiJIUzk5OSIsInR5cCI6ImxvZ2luK2p3dCJ9.e30.AAAA", ErrAlgorithm},
			"not base64 at all": {"%%%.%%%.%%%", ErrMalformed},
		} {
			if _, err := member(l, c.token); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		nobody := forge(t, l.key, jwt.SigningMethodHS256, loginType, jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{loginAudience}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour))})
		if _, err := member(l, nobody); !errors.Is(err, ErrMalformed) {
			t.Errorf("a token of nobody: %v", err)
		}
		eternal := forge(t, l.key, jwt.SigningMethodHS256, loginType, jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{loginAudience}, Subject: "ann"})
		if _, err := member(l, eternal); err == nil {
			t.Error("a token without an end was taken")
		}
		time.Sleep(LoginLasts + leeway + time.Second)
		if _, err := member(l, signed); !errors.Is(err, ErrExpired) {
			t.Errorf("a day later: %v", err)
		}
	})
}

func TestTokensAreNotInterchangeable(t *testing.T) {
	l := newLogin(t, secretA)
	ring, err := token.NewRing(secretA) // even with one secret for both
	require.NoError(t, err)
	entries, err := token.NewEntries(ring, token.Config{Issuer: issuer})
	require.NoError(t, err)
	login, _, err := l.Issue("ann")
	require.NoError(t, err)
	entry, err := entries.Issue(token.EntryClaims{Event: "show-1", User: "ann", ID: "1"})
	require.NoError(t, err)
	if _, err := member(l, entry); !errors.Is(err, ErrType) {
		t.Errorf("an entry token as a sign-in: %v", err)
	}
	if _, err := entries.Verify(login, "show-1"); token.Reason(err) != "wrong_type" {
		t.Errorf("a sign-in as an entry token: %v", err)
	}
}

func TestTamperedToken(t *testing.T) {
	l := newLogin(t, secretA)
	token, _, err := l.Issue("ann")
	require.NoError(t, err)
	for i := range token {
		for _, c := range []byte{'A', 'B', '.', 'x'} {
			if token[i] == c {
				continue
			}
			changed := token[:i] + string(c) + token[i+1:]
			if got, err := member(l, changed); err == nil {
				t.Fatalf("with byte %d changed from %q to %q it is %s's", i, token[i], c, got)
			}
		}
	}
}

func TestShortSecret(t *testing.T) {
	short := secretA[:31]
	if _, err := NewLogin(short); err == nil || strings.Contains(err.Error(), short) {
		t.Errorf("login: %v", err)
	}
}

func TestIsAdmin(t *testing.T) {
	for header, want := range map[string]bool{
		"Bearer admin": true, "bearer admin": true, "Bearer admin2": false, "Bearer ": false, "admin": false, "": false, "Bearer adm": false,
	} {
		assert.Equalf(t, want, IsAdmin(request("Authorization", header), "admin"), "%q", header)
	}
	assert.False(t, IsAdmin(request("Authorization", "Bearer "), ""), "an empty token opened everything")
}

func TestCheckMember(t *testing.T) {
	for id, ok := range map[string]bool{
		"ann": true, "a.b-c_9": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
		"": false, "a b": false, "ann\n": false, "../x": false, "앤": false, "<b>": false,
	} {
		assert.Equalf(t, ok, CheckMember(id) == nil, "%q", id)
	}
}
