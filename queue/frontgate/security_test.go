package frontgate_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue/frontgate"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/token"
)

// Request ids of another event, key or kind, and altered ones, are refused.
func TestForgedRequestIDs(t *testing.T) {
	g := newGate(t, memory(t), frontgate.Config{})
	activate(t, g)
	_, err := g.Activate(t.Context(), "show-2")
	require.NoError(t, err)
	own := assign(t, g)
	elsewhere, err := g.Assign(t.Context(), "show-2", "")
	require.NoError(t, err)
	_, err = g.Advance(t.Context(), event, 10)
	require.NoError(t, err)
	if turn := check(t, g, own.RequestID); !turn.Admitted {
		t.Fatalf("%+v", turn)
	}
	state, err := g.Status(t.Context(), event)
	require.NoError(t, err)
	forged := seal.NewRequests(ring(t, other)).Seal(seal.Request{Event: event, Position: 1, Epoch: state.Epoch, Issued: time.Now()})
	bad := map[string]string{
		"none": "", "of another event": elsewhere.RequestID, "of another key": forged, "a number": "1",
		"twice": own.RequestID + own.RequestID, "cut": own.RequestID[1:], "padded": own.RequestID + "=", "with a line break": own.RequestID[:20] + "\n" + own.RequestID[20:],
	}
	// Each of its bits counts.
	raw, err := base64.RawURLEncoding.DecodeString(own.RequestID)
	require.NoError(t, err)
	for i := range 8 * len(raw) {
		raw[i/8] ^= 1 << (i % 8)
		bad["with a bit flipped: "+base64.RawURLEncoding.EncodeToString(raw)] = base64.RawURLEncoding.EncodeToString(raw)
		raw[i/8] ^= 1 << (i % 8)
	}
	for what, id := range bad {
		if turn, err := g.Check(t.Context(), event, id, ""); !errors.Is(err, frontgate.ErrRequest) {
			t.Errorf("a request id %s: %+v, %v", what, turn, err)
		}
	}
}

// A request id is worth nothing after 24 h, nor with the counters of another epoch.
func TestOldRequestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, memory(t), frontgate.Config{})
		activate(t, g)
		place := assign(t, g)
		time.Sleep(driver.Kept)
		if turn := check(t, g, place.RequestID); turn.Admitted {
			t.Errorf("%+v", turn)
		}
		_, err := g.Advance(t.Context(), event, 10)
		require.NoError(t, err)
		if turn := check(t, g, place.RequestID); !turn.Admitted {
			t.Errorf("%+v", turn)
		}
		time.Sleep(time.Second + time.Millisecond)
		if turn, err := g.Check(t.Context(), event, place.RequestID, ""); !errors.Is(err, frontgate.ErrLost) {
			t.Errorf("after 24 h: %+v, %v", turn, err)
		}
		// Sealed by us, with counters that never existed: before and after now.
		state, err := g.Status(t.Context(), event)
		require.NoError(t, err)
		for _, epoch := range []uint64{0, state.Epoch - 1, state.Epoch + 1} {
			id := seal.NewRequests(ring(t, secret)).Seal(seal.Request{Event: event, Position: 1, Epoch: epoch, Issued: time.Now()})
			if turn, err := g.Check(t.Context(), event, id, ""); !errors.Is(err, frontgate.ErrLost) {
				t.Errorf("of the epoch %d beside %d: %+v, %v", epoch, state.Epoch, turn, err)
			}
		}
	})
}

// Tokens of another kind, key, event, algorithm or issuer open nothing.
func TestForgedTokens(t *testing.T) {
	g := newGate(t, memory(t), frontgate.Config{})
	activate(t, g)
	place := assign(t, g)
	_, err := g.Advance(t.Context(), event, 10)
	require.NoError(t, err)
	good := check(t, g, place.RequestID).Token
	if position, err := g.Position(t.Context(), event, good, ""); position != 1 || err != nil {
		t.Fatal(position, err)
	}
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(good, claims)
	require.NoError(t, err)
	if claims["tier"] != float64(1) || claims["pos"] != float64(1) || claims["sub"] != event {
		t.Errorf("the claims are %v", claims)
	}
	id := claims["jti"].(string)
	entries, err := token.NewEntries(ring(t, secret), token.Config{})
	require.NoError(t, err)
	entry, err := entries.Issue(token.EntryClaims{Event: event, User: "u-1", ID: id})
	require.NoError(t, err)
	gates := func(secret string, cfg tokens.Config, c tokens.GateClaims) string {
		t.Helper()
		all, err := tokens.NewGates(ring(t, secret), cfg)
		require.NoError(t, err)
		text, err := all.Issue(c)
		require.NoError(t, err)
		return text
	}
	none := jwt.NewWithClaims(jwt.SigningMethodNone, claims)
	none.Header["typ"], none.Header["kid"] = parsed.Header["typ"], parsed.Header["kid"]
	unsigned, err := none.SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	strong := jwt.NewWithClaims(jwt.SigningMethodHS512, claims)
	strong.Header["typ"], strong.Header["kid"] = parsed.Header["typ"], parsed.Header["kid"]
	confused, err := strong.SignedString([]byte(secret))
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	for what, text := range map[string]string{
		"none":                       "",
		"an entry token":             entry,
		"a request id":               place.RequestID,
		"of another key":             gates(other, tokens.Config{}, tokens.GateClaims{Event: event, Position: 1, ID: id}),
		"of another issuer":          gates(secret, tokens.Config{Issuer: "x"}, tokens.GateClaims{Event: event, Position: 1, ID: id}),
		"of another event":           gates(secret, tokens.Config{}, tokens.GateClaims{Event: "show-2", Position: 1, ID: id}),
		"expired":                    gates(secret, tokens.Config{}, tokens.GateClaims{Event: event, Position: 1, ID: id, IssuedAt: time.Now().Add(-time.Hour)}),
		"of no epoch":                gates(secret, tokens.Config{}, tokens.GateClaims{Event: event, Position: 1}),
		"of another epoch":           gates(secret, tokens.Config{}, tokens.GateClaims{Event: event, Position: 1, ID: "1.x"}),
		"of the epoch 0":             gates(secret, tokens.Config{}, tokens.GateClaims{Event: event, Position: 1, ID: "0.x"}),
		"unsigned":                   unsigned,
		"by another algorithm":       confused,
		"with the signature cut off": parts[0] + "." + parts[1] + ".",
		"with other claims":          parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"tier":1,"pos":1,"sub":"show-1"}`)) + "." + parts[2],
	} {
		if position, err := g.Position(t.Context(), event, text, ""); !badToken(err) || position != 0 {
			t.Errorf("a token %s has the position %d, %v", what, position, err)
		}
		if way, position, err := g.Decide(t.Context(), event, text, ""); way != frontgate.Closed || position != 0 || err != nil {
			t.Errorf("a token %s leads %v with %d, %v", what, way, position, err)
		}
	}
	// The reverse: the gate's token is no entry token.
	if c, err := entries.Verify(good, event); err == nil {
		t.Errorf("the gate's token is taken for an entry token: %+v", c)
	}
}

// Ids that cannot be part of a key or a path are refused.
func TestEventIDs(t *testing.T) {
	g := newGate(t, memory(t), frontgate.Config{})
	for _, bad := range []string{"", "a b", "{a}", "\x00", "\xff", strings.Repeat("a", 129)} {
		for what, call := range map[string]func() error{
			"assign":     func() error { _, err := g.Assign(t.Context(), bad, ""); return err },
			"decide":     func() error { _, _, err := g.Decide(t.Context(), bad, "", ""); return err },
			"activate":   func() error { _, err := g.Activate(t.Context(), bad); return err },
			"deactivate": func() error { _, err := g.Deactivate(t.Context(), bad); return err },
			"status":     func() error { _, err := g.Status(t.Context(), bad); return err },
			"advance":    func() error { _, err := g.Advance(t.Context(), bad, 1); return err },
		} {
			assert.ErrorIsf(t, call(), driver.ErrInvalid, "%s of %q", what, bad)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, bad := range []frontgate.Config{
		{Step: -1}, {Step: driver.MaxAdvance + 1}, {Every: -1}, {Every: time.Microsecond}, {Every: 25 * time.Hour},
		{Refresh: -1}, {Stale: -1}, {Refresh: time.Second, Stale: time.Millisecond}, {Timeout: -1}, {MaxEvents: -1}, {Lasts: time.Millisecond},
	} {
		if _, err := frontgate.New(memory(t), ring(t, secret), bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	if _, err := frontgate.New(nil, ring(t, secret), frontgate.Config{}); err == nil {
		t.Error("a nil store was accepted")
	}
	if _, err := frontgate.New(memory(t), nil, frontgate.Config{}); err == nil {
		t.Error("a nil ring was accepted")
	}
	if _, err := frontgate.NewHandlers(nil, frontgate.HTTPConfig{}); err == nil {
		t.Error("a nil gate was accepted")
	}
	for _, bad := range []frontgate.HTTPConfig{
		{GatePath: "/vwr"}, {GatePath: "//evil.test/{eventId}"}, {EventPath: "https://evil.test/{eventId}"}, {QueuePath: `/\evil.test/{eventId}`},
		{QueuePath: "/{eventId}"}, {Cookie: "a b"}, {RetryAfter: time.Millisecond},
	} {
		if _, err := frontgate.NewHandlers(newGate(t, memory(t), frontgate.Config{}), bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
