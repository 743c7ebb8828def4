package token_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue/token"
)

// keyOf is the documented derivation, implemented a second time.
func keyOf(secret, kind string) (key []byte, id string) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("millrace/queue/" + kind))
	key = mac.Sum(nil)
	mac = hmac.New(sha256.New, key)
	mac.Write([]byte("id"))
	return key, hex.EncodeToString(mac.Sum(nil)[:4])
}

// forge makes a token with the real key, by changing the header and claims of an
// entry token of user u for event e. A nil value takes a member out.
func forge(t *testing.T, header, claims map[string]any) string {
	t.Helper()
	key, id := keyOf(newSecret, "entry")
	now := time.Now()
	body := jwt.MapClaims{
		"iss": "millrace", "aud": []string{"millrace-queue-entry"}, "sub": "e", "uid": "u", "jti": "1",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Minute).Unix(),
	}
	tok := jwt.NewWithClaims(jwt.SigningMethodHS256, body)
	tok.Header["typ"], tok.Header["kid"] = "entry+jwt", id
	maps.Copy(tok.Header, header)
	maps.Copy(body, claims)
	for _, m := range []map[string]any{tok.Header, body} {
		for name, v := range m {
			if v == nil {
				delete(m, name)
			}
		}
	}
	return must(tok.SignedString(key))
}

func TestEntryRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := entries(t, newSecret)
		now := time.Now().Truncate(time.Second)
		text := must(e.Issue(token.EntryClaims{Event: "쇼-1", User: "member|1", ID: "5.7"}))
		c, err := e.Verify(text, "쇼-1")
		require.NoError(t, err)
		want := token.EntryClaims{Event: "쇼-1", User: "member|1", ID: "5.7", IssuedAt: now, ExpiresAt: now.Add(600 * time.Second)}
		if c.Event != want.Event || c.User != want.User || c.ID != want.ID || !c.IssuedAt.Equal(want.IssuedAt) || !c.ExpiresAt.Equal(want.ExpiresAt) {
			t.Errorf("%+v, want %+v", c, want)
		}
		for _, other := range []string{"쇼-2", ""} {
			if c, err := e.Verify(text, other); !errors.Is(err, seal.ErrEvent) || c != (token.EntryClaims{}) {
				t.Errorf("for %q: %+v, %v", other, c, err)
			}
		}
		if err := func() error { _, err := e.Verify(forge(t, nil, nil), "e"); return err }(); err != nil {
			t.Errorf("the forger's own token, unchanged: %v; the cases that build on it prove nothing", err)
		}
	})
}

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := entries(t, newSecret)
		now := time.Now()
		text := must(e.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1"}))
		ahead := must(e.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1", IssuedAt: now.Add(token.Skew)}))
		far := must(e.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1", IssuedAt: now.Add(token.Skew + time.Second)}))
		short := must(e.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1", ExpiresAt: now.Add(2500 * time.Millisecond)}))
		check := func(when, text string, want error) {
			t.Helper()
			if _, err := e.Verify(text, "e"); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", when, err, want)
			}
		}
		check("from a clock that is 5 s ahead", ahead, nil)
		check("from a clock that is 6 s ahead", far, seal.ErrNotYet)
		check("new", short, nil)
		time.Sleep(2 * time.Second)
		check("in the second of its end", short, token.ErrExpired)
		time.Sleep(597*time.Second + 999*time.Millisecond)
		check("1 ms before its end", text, nil)
		time.Sleep(time.Millisecond)
		check("at its end", text, token.ErrExpired)
	})
}

func TestRefusals(t *testing.T) {
	now := time.Now().Unix()
	for _, c := range []struct {
		name           string
		header, claims map[string]any
		want           error
	}{
		{"another typ", map[string]any{"typ": "JWT"}, nil, seal.ErrType},
		{"typ of the gate", map[string]any{"typ": "gate+jwt"}, nil, seal.ErrType},
		{"no typ", map[string]any{"typ": nil}, nil, seal.ErrType},
		{"no kid", map[string]any{"kid": nil}, nil, seal.ErrSignature},
		{"unknown kid", map[string]any{"kid": "00000000"}, nil, seal.ErrSignature},
		{"kid that is no string", map[string]any{"kid": 1}, nil, seal.ErrSignature},
		{"another issuer", nil, map[string]any{"iss": "boxoffice"}, seal.ErrType},
		{"no issuer", nil, map[string]any{"iss": nil}, seal.ErrMalformed},
		{"another audience", nil, map[string]any{"aud": []string{"millrace-queue-gate"}}, seal.ErrType},
		{"no audience", nil, map[string]any{"aud": nil}, seal.ErrMalformed},
		{"no end", nil, map[string]any{"exp": nil}, seal.ErrMalformed},
		{"no beginning", nil, map[string]any{"nbf": nil}, seal.ErrMalformed},
		{"expired", nil, map[string]any{"exp": now - 1}, token.ErrExpired},
		{"not yet", nil, map[string]any{"nbf": now + 60}, seal.ErrNotYet},
		{"no event", nil, map[string]any{"sub": nil}, seal.ErrMalformed},
		{"no user", nil, map[string]any{"uid": nil}, seal.ErrMalformed},
		{"no id", nil, map[string]any{"jti": nil}, seal.ErrMalformed},
		{"a user that is no string", nil, map[string]any{"uid": 1}, seal.ErrMalformed},
		{"an end that is no number", nil, map[string]any{"exp": "tomorrow"}, seal.ErrMalformed},
		{"too large", nil, map[string]any{"uid": strings.Repeat("u", token.MaxToken)}, seal.ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := entries(t, newSecret).Verify(forge(t, c.header, c.claims), "e")
			if !errors.Is(err, c.want) || got != (token.EntryClaims{}) {
				t.Errorf("%v with %+v, want %v", err, got, c.want)
			}
		})
	}
	good := forge(t, nil, nil)
	for text, want := range map[string]error{
		good: nil, good + "\n": seal.ErrMalformed, good[:len(good)-9] + "\r\n" + good[len(good)-9:]: seal.ErrMalformed, good + "=": seal.ErrMalformed, " " + good: seal.ErrMalformed,
		"": token.ErrMissing, "x": seal.ErrMalformed, "..": seal.ErrMalformed, "a.b.c.d": seal.ErrMalformed,
		"bnVsbA.bnVsbA.": seal.ErrMalformed, "e30.e30.": seal.ErrMalformed, strings.Repeat("a.", 1<<20): seal.ErrMalformed,
	} {
		if _, err := entries(t, newSecret).Verify(text, "e"); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", text, err, want)
		}
	}
}

func TestAlgorithm(t *testing.T) {
	key, id := keyOf(newSecret, "entry")
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	claims := jwt.MapClaims{
		"iss": "millrace", "aud": "millrace-queue-entry", "sub": "e", "uid": "u", "jti": "1",
		"nbf": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	}
	sign := func(m jwt.SigningMethod, key any) string {
		tok := jwt.NewWithClaims(m, claims)
		tok.Header["typ"], tok.Header["kid"] = "entry+jwt", id
		return must(tok.SignedString(key))
	}
	_, err = entries(t, newSecret).Verify(sign(jwt.SigningMethodHS256, key), "e")
	require.NoError(t, err, "HS256")
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	body := strings.Split(sign(jwt.SigningMethodHS256, key), ".")[1]
	for name, text := range map[string]string{
		"none":                      sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"none with a signature":     sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType) + "AAAA",
		"None":                      part(fmt.Sprintf(`{"alg":"None","typ":"entry+jwt","kid":%q}`, id)) + "." + body + ".",
		"HS384 with the same key":   sign(jwt.SigningMethodHS384, key),
		"HS512 with the same key":   sign(jwt.SigningMethodHS512, key),
		"RS256":                     sign(jwt.SigningMethodRS256, private),
		"RS256 with the MAC's text": strings.Replace(sign(jwt.SigningMethodHS256, key), part(fmt.Sprintf(`{"alg":"HS256","kid":%q,"typ":"entry+jwt"}`, id)), part(fmt.Sprintf(`{"alg":"RS256","kid":%q,"typ":"entry+jwt"}`, id)), 1),
		"one that nobody knows":     part(fmt.Sprintf(`{"alg":"XX","typ":"entry+jwt","kid":%q}`, id)) + "." + body + ".AAAA",
		"hs256":                     part(fmt.Sprintf(`{"alg":"hs256","typ":"entry+jwt","kid":%q}`, id)) + "." + body + ".AAAA",
	} {
		if _, err := entries(t, newSecret).Verify(text, "e"); !errors.Is(err, seal.ErrAlgorithm) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := entries(t, newSecret).Verify(part(`{"typ":"entry+jwt"}`)+"."+body+".AAAA", "e"); !errors.Is(err, seal.ErrMalformed) {
		t.Errorf("no algorithm: %v", err)
	}
}

func TestTamperedJWT(t *testing.T) {
	e := entries(t, newSecret)
	text := must(e.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1"}))
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i, r := range text {
		if r == '.' {
			continue
		}
		at := strings.IndexRune(alphabet, r)
		for bit := range 6 {
			changed := text[:i] + alphabet[at^1<<bit:at^1<<bit+1] + text[i+1:]
			if _, err := e.Verify(changed, "e"); token.Reason(err) == "" {
				t.Fatalf("bit %d of character %d changed: %v", bit, i, err)
			}
		}
	}
}

func TestKindsAreNotInterchangeable(t *testing.T) {
	r := ring(t, newSecret)
	e, g := entries(t, newSecret), gates(t, newSecret)
	entry := must(e.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1"}))
	gate := must(g.Issue(tokens.GateClaims{Event: "e", Position: 1}))
	if _, err := e.Verify(gate, "e"); !errors.Is(err, seal.ErrType) {
		t.Errorf("a gate's token as an entry token: %v", err)
	}
	if _, err := g.Verify(entry, "e"); !errors.Is(err, seal.ErrType) {
		t.Errorf("an entry token as a gate's: %v", err)
	}
	for name, text := range map[string]string{
		"ticket": seal.NewTickets(r).Seal(seal.Ticket{Event: "e", User: "u"}), "request": seal.NewRequests(r).Seal(seal.Request{Event: "e"}),
		"pass": tokens.NewPasses(r).Sign(tokens.Pass{Method: "GET", Path: "/", Event: "e", User: "u"}),
	} {
		if _, err := e.Verify(text, "e"); token.Reason(err) == "" {
			t.Errorf("a %s as an entry token: %v", name, err)
		}
	}
	// Only the header names the kind of a token; the kind's key confirms it.
	gateKey, _ := keyOf(newSecret, "gate")
	for _, key := range [][]byte{gateKey, []byte(newSecret)} {
		tok := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"iss": "millrace", "aud": "millrace-queue-entry", "sub": "e", "uid": "u", "jti": "1",
			"nbf": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
		})
		_, id := keyOf(newSecret, "entry")
		tok.Header["typ"], tok.Header["kid"] = "entry+jwt", id
		if _, err := e.Verify(must(tok.SignedString(key)), "e"); !errors.Is(err, seal.ErrSignature) {
			t.Errorf("an entry token with another kind's key: %v", err)
		}
	}
}

func TestGateRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gates(t, newSecret)
		now := time.Now()
		text := must(g.Issue(tokens.GateClaims{Event: "e", Position: 1 << 40}))
		c, err := g.Verify(text, "e")
		if err != nil || c.Event != "e" || c.Position != 1<<40 || c.ID == "" || !c.ExpiresAt.Equal(now.Add(600*time.Second)) {
			t.Errorf("%+v, %v", c, err)
		}
		if c, err := g.Verify(text, "f"); !errors.Is(err, seal.ErrEvent) || c != (tokens.GateClaims{}) {
			t.Errorf("another event: %+v, %v", c, err)
		}
		body, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
		if err != nil || !strings.Contains(string(body), `"tier":1,"pos":1099511627776`) {
			t.Errorf("the claims are %s", body)
		}
		time.Sleep(600 * time.Second)
		if _, err := g.Verify(text, "e"); !errors.Is(err, token.ErrExpired) {
			t.Errorf("at its end: %v", err)
		}
	})
	// Tokens that need the key, and that no part of ours makes.
	key, id := keyOf(newSecret, "gate")
	for name, c := range map[string]struct {
		claims map[string]any
		want   error
	}{
		"tier 1": {map[string]any{"tier": 1, "pos": 1}, nil}, "tier 2": {map[string]any{"tier": 2, "pos": 1}, seal.ErrType}, "no tier": {map[string]any{"pos": 1}, seal.ErrType},
		"position 0": {map[string]any{"tier": 1, "pos": 0}, seal.ErrMalformed}, "half a position": {map[string]any{"tier": 1, "pos": 1.5}, seal.ErrMalformed},
	} {
		claims := jwt.MapClaims{"iss": "millrace", "aud": "millrace-queue-gate", "sub": "e", "nbf": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
		maps.Copy(claims, c.claims)
		tok := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
		tok.Header["typ"], tok.Header["kid"] = "gate+jwt", id
		if _, err := gates(t, newSecret).Verify(must(tok.SignedString(key)), "e"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestIssueRefusesWhatJSONChanges(t *testing.T) {
	e, g := entries(t, newSecret), gates(t, newSecret)
	for _, c := range []token.EntryClaims{
		{User: "u", ID: "1"}, {Event: "e", ID: "1"}, {Event: "e", User: "u"},
		{Event: "\xff", User: "u", ID: "1"}, {Event: "e", User: "u\xfe", ID: "1"}, {Event: "e", User: "u", ID: "\xc0"},
		{Event: "e", User: strings.Repeat("u", token.MaxToken), ID: "1"},
	} {
		if text, err := e.Issue(c); err == nil || text != "" {
			t.Errorf("%.40q was issued", c)
		}
	}
	for _, c := range []tokens.GateClaims{{Position: 1}, {Event: "e"}, {Event: "e", Position: -1}, {Event: "\xff", Position: 1}} {
		if text, err := g.Issue(c); err == nil || text != "" {
			t.Errorf("%+v was issued", c)
		}
	}
	// The longest names that a room takes fit, with any characters.
	for _, r := range []string{"a", "\x00", "\u2028", "쇼", "<"} {
		name := strings.Repeat(r, 256/len(r))
		show := name[:len(name)/len(r)/2*len(r)]
		c, err := e.Verify(must(e.Issue(token.EntryClaims{Event: show, User: name, ID: "18446744073709551615.9007199254740992"})), show)
		if err != nil || c.User != name {
			t.Errorf("256 bytes of %q: %v", r, err)
		}
	}
}

func TestConfig(t *testing.T) {
	if _, err := token.NewEntries(nil, token.Config{}); err == nil {
		t.Error("no ring was taken")
	}
	for _, lasts := range []time.Duration{-1, time.Millisecond} {
		if _, err := tokens.NewGates(ring(t, newSecret), tokens.Config{Lasts: lasts}); err == nil || !strings.Contains(err.Error(), "Config.Lasts") {
			t.Errorf("%s: %v", lasts, err)
		}
	}
	mine, err := token.NewEntries(ring(t, newSecret), token.Config{Issuer: "boxoffice", Lasts: time.Minute})
	require.NoError(t, err)
	text := must(mine.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1"}))
	if c, err := mine.Verify(text, "e"); err != nil || c.ExpiresAt.Sub(c.IssuedAt) != time.Minute || mine.Lasts() != time.Minute {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := entries(t, newSecret).Verify(text, "e"); !errors.Is(err, seal.ErrType) {
		t.Errorf("a token of another issuer: %v", err)
	}
}

func FuzzEntryVerify(f *testing.F) {
	e := entries(f, newSecret)
	f.Add(must(e.Issue(token.EntryClaims{Event: "e", User: "u", ID: "1", ExpiresAt: time.Now().Add(time.Hour)})))
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := e.Verify(text, "e")
		if err != nil {
			if token.Reason(err) == "" || c != (token.EntryClaims{}) {
				t.Fatalf("%+v, %v", c, err)
			}
			return
		}
		if c.Event != "e" || c.User != "u" || c.ID != "1" {
			t.Fatalf("nobody has issued %+v", c)
		}
	})
}

func FuzzGateVerify(f *testing.F) {
	g := gates(f, newSecret)
	f.Add(must(g.Issue(tokens.GateClaims{Event: "e", Position: 7, ExpiresAt: time.Now().Add(time.Hour)})), "e")
	f.Add("eyJhbGciOiJub25lIn0.e30.", "")
	f.Fuzz(func(t *testing.T, text, event string) {
		c, err := g.Verify(text, event)
		if err != nil {
			if token.Reason(err) == "" || c != (tokens.GateClaims{}) {
				t.Fatalf("%+v, %v", c, err)
			}
			return
		}
		if event != "e" || c.Event != "e" || c.Position != 7 {
			t.Fatalf("nobody has issued %+v", c)
		}
	})
}

func BenchmarkEntryVerify(b *testing.B) {
	e := entries(b, newSecret)
	text := must(e.Issue(token.EntryClaims{Event: "show-1", User: "member-123456", ID: "1.2"}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Verify(text, "show-1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEntryIssue(b *testing.B) {
	e := entries(b, newSecret)
	b.ReportAllocs()
	for b.Loop() {
		must(e.Issue(token.EntryClaims{Event: "show-1", User: "member-123456", ID: "1.2"}))
	}
}
