package auth

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	secretA = "0123456789abcdef0123456789abcdef"
	secretB = "fedcba9876543210fedcba9876543210"
)

func newLogin(t *testing.T, secret string) *Login {
	t.Helper()
	l, err := NewLogin(secret)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newEntry(t *testing.T, secrets ...string) *Entry {
	t.Helper()
	e, err := NewEntry(secrets, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return e
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

// forge signs claims as whoever knows the key would.
func forge(t *testing.T, k key, method jwt.SigningMethod, typ string, claims jwt.Claims) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, claims)
	tok.Header["typ"], tok.Header["kid"] = typ, k.id
	var with any = k.secret
	if method == jwt.SigningMethodNone {
		with = jwt.UnsafeAllowNoneSignatureType
	}
	s, err := tok.SignedString(with)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLoginToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogin(t, secretA)
		token, expires, err := l.Issue("ann")
		if err != nil || !expires.After(time.Now().Add(23*time.Hour)) {
			t.Fatal(expires, err)
		}
		if got, err := member(l, token); got != "ann" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		for name, c := range map[string]struct {
			header string
			want   error
		}{
			"no header":    {"", ErrMissing},
			"other scheme": {"Basic " + token, ErrMissing},
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
		if _, err := member(newLogin(t, secretB), token); !errors.Is(err, ErrSignature) {
			t.Errorf("another secret: %v", err)
		}
		nobody := forge(t, l.keys[0], jwt.SigningMethodHS256, loginType, jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{loginAudience}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour))})
		if _, err := member(l, nobody); !errors.Is(err, ErrMalformed) {
			t.Errorf("a token of nobody: %v", err)
		}
		eternal := forge(t, l.keys[0], jwt.SigningMethodHS256, loginType, jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{loginAudience}, Subject: "ann"})
		if _, err := member(l, eternal); err == nil {
			t.Error("a token without an end was taken")
		}
		time.Sleep(LoginLasts + leeway + time.Second)
		if _, err := member(l, token); !errors.Is(err, ErrExpired) {
			t.Errorf("a day later: %v", err)
		}
	})
}

func TestEntryToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntry(t, secretA)
		good := func() entryClaims {
			return entryClaims{Member: "ann", RegisteredClaims: jwt.RegisteredClaims{
				Issuer: issuer, Audience: jwt.ClaimStrings{entryAudience}, Subject: "show-1",
				IssuedAt: jwt.NewNumericDate(time.Now()), ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Minute))}}
		}
		token, err := e.Issue("ann", "show-1")
		if err != nil {
			t.Fatal(err)
		}
		var claims jwt.MapClaims
		parsed, _, err := jwt.NewParser().ParseUnverified(token, &claims)
		if err != nil || claims["sub"] != "show-1" || claims["uid"] != "ann" || claims["jti"] == "" || parsed.Header["kid"] == "" || parsed.Header["alg"] != "HS256" {
			t.Errorf("claims %v, header %v, %v", claims, parsed.Header, err)
		}
		if life := claims["exp"].(float64) - claims["iat"].(float64); life != 600 {
			t.Errorf("it lasts %v s", life)
		}
		k := e.keys[0]
		foreign := key{id: k.id, secret: []byte(secretB)}
		other := good()
		other.Audience = jwt.ClaimStrings{"elsewhere"}
		for name, c := range map[string]struct {
			token string
			want  error
		}{
			"right":             {token, nil},
			"missing":           {"", ErrMissing},
			"garbage":           {"garbage", ErrMalformed},
			"another key":       {forge(t, foreign, jwt.SigningMethodHS256, entryType, good()), ErrSignature},
			"unknown key id":    {forge(t, key{"x", k.secret}, jwt.SigningMethodHS256, entryType, good()), ErrSignature},
			"HS512":             {forge(t, k, jwt.SigningMethodHS512, entryType, good()), ErrAlgorithm},
			"none":              {forge(t, k, jwt.SigningMethodNone, entryType, good()), ErrAlgorithm},
			"another type":      {forge(t, k, jwt.SigningMethodHS256, "JWT", good()), ErrType},
			"another audience":  {forge(t, k, jwt.SigningMethodHS256, entryType, other), ErrType},
			"unknown algorithm": {"eyJhbGciOiJIUzk5OSIsInR5cCI6ImVudHJ5K2p3dCJ9.e30.AAAA", ErrAlgorithm},
			"not base64 at all": {"%%%.%%%.%%%", ErrMalformed},
		} {
			r := request(EntryHeader, c.token)
			if err := e.Check(r, "ann", "show-1"); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		r := request(EntryHeader, token)
		if err := e.Check(r, "bob", "show-1"); !errors.Is(err, ErrUser) {
			t.Errorf("another member: %v", err)
		}
		if err := e.Check(r, "ann", "show-2"); !errors.Is(err, ErrEvent) {
			t.Errorf("another event: %v", err)
		}
		time.Sleep(10*time.Minute + leeway + time.Second)
		if err := e.Check(r, "ann", "show-1"); !errors.Is(err, ErrExpired) {
			t.Errorf("later: %v", err)
		}
	})
}

func TestTokensAreNotInterchangeable(t *testing.T) {
	l, e := newLogin(t, secretA), newEntry(t, secretA) // even with one secret for both
	login, _, err := l.Issue("ann")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := e.Issue("ann", "show-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := member(l, entry); !errors.Is(err, ErrType) {
		t.Errorf("an entry token as a sign-in: %v", err)
	}
	if err := e.Check(request(EntryHeader, login), "ann", "show-1"); !errors.Is(err, ErrType) {
		t.Errorf("a sign-in as an entry token: %v", err)
	}
	if l.keys[0].id == e.keys[0].id || string(l.keys[0].secret) == string(e.keys[0].secret) {
		t.Error("two purposes share a key")
	}
}

func TestTamperedToken(t *testing.T) {
	l := newLogin(t, secretA)
	token, _, err := l.Issue("ann")
	if err != nil {
		t.Fatal(err)
	}
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

func TestKeyRing(t *testing.T) {
	old := newEntry(t, secretA)
	token, err := old.Issue("ann", "show-1")
	if err != nil {
		t.Fatal(err)
	}
	both := newEntry(t, secretB, secretA)
	if err := both.Check(request(EntryHeader, token), "ann", "show-1"); err != nil {
		t.Errorf("a token of the old key: %v", err)
	}
	fresh, err := both.Issue("ann", "show-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Check(request(EntryHeader, fresh), "ann", "show-1"); !errors.Is(err, ErrSignature) {
		t.Errorf("the new key signs: %v", err)
	}
	if err := newEntry(t, secretB).Check(request(EntryHeader, token), "ann", "show-1"); !errors.Is(err, ErrSignature) {
		t.Errorf("a retired key: %v", err)
	}
}

func TestShortSecret(t *testing.T) {
	short := secretA[:31]
	if _, err := NewLogin(short); err == nil || strings.Contains(err.Error(), short) {
		t.Errorf("login: %v", err)
	}
	if _, err := NewEntry([]string{secretA, short}, time.Minute); err == nil || !strings.Contains(err.Error(), "31 bytes") {
		t.Errorf("entry: %v", err)
	}
	if _, err := NewEntry(nil, time.Minute); err == nil {
		t.Error("no secret was enough")
	}
}

func TestEntryPrecedence(t *testing.T) {
	e := newEntry(t, secretA)
	good, err := e.Issue("ann", "show-1")
	if err != nil {
		t.Fatal(err)
	}
	with := func(header *string, cookie string) error {
		r := request("", "")
		if header != nil {
			r.Header.Set(EntryHeader, *header)
		}
		if cookie != "" {
			r.AddCookie(&http.Cookie{Name: EntryCookie + "show-1", Value: cookie})
		}
		return e.Check(r, "ann", "show-1")
	}
	bad, empty := "bad", ""
	for name, c := range map[string]struct {
		header *string
		cookie string
		want   error
	}{
		"cookie alone":             {nil, good, nil},
		"header alone":             {&good, "", nil},
		"header over a bad cookie": {&good, "bad", nil},
		"a bad header over cookie": {&bad, good, ErrMalformed},
		"an empty header":          {&empty, good, ErrMissing},
		"a bad cookie":             {nil, "bad", ErrMalformed},
		"neither":                  {nil, "", ErrMissing},
	} {
		if err := with(c.header, c.cookie); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	// Another event's cookie does not count.
	r := request("", "")
	r.AddCookie(&http.Cookie{Name: EntryCookie + "show-2", Value: good})
	if err := e.Check(r, "ann", "show-1"); !errors.Is(err, ErrMissing) {
		t.Errorf("another event's cookie: %v", err)
	}
}

func TestEntryCookie(t *testing.T) {
	e := newEntry(t, secretA)
	set := func(r *http.Request, do func(http.ResponseWriter, *http.Request)) *http.Cookie {
		w := httptest.NewRecorder()
		do(w, r)
		return w.Result().Cookies()[0]
	}
	give := func(w http.ResponseWriter, r *http.Request) { e.SetCookie(w, r, "show-1", "token") }
	c := set(request("", ""), give)
	if c.Name != "urr-entry-token-show-1" || c.Value != "token" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.MaxAge != 600 || c.Path != "/" {
		t.Errorf("%+v", c)
	}
	r := request("", "")
	r.TLS = &tls.ConnectionState{}
	if c := set(r, give); !c.Secure {
		t.Errorf("on https: %+v", c)
	}
	if c := set(r, func(w http.ResponseWriter, r *http.Request) { e.ClearCookie(w, r, "show-1") }); c.MaxAge >= 0 || c.Value != "" {
		t.Errorf("cleared: %+v", c)
	}
}

func TestIsAdmin(t *testing.T) {
	for header, want := range map[string]bool{
		"Bearer admin": true, "bearer admin": true, "Bearer admin2": false, "Bearer ": false, "admin": false, "": false, "Bearer adm": false,
	} {
		if got := IsAdmin(request("Authorization", header), "admin"); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if IsAdmin(request("Authorization", "Bearer "), "") {
		t.Error("an empty token opened everything")
	}
}

func TestCheckMember(t *testing.T) {
	for id, ok := range map[string]bool{
		"ann": true, "a.b-c_9": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
		"": false, "a b": false, "ann\n": false, "../x": false, "앤": false, "<b>": false,
	} {
		if got := CheckMember(id) == nil; got != ok {
			t.Errorf("%q: %v", id, got)
		}
	}
}
