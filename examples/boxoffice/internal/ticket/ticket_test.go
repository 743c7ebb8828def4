package ticket_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"rsc.io/qr"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
)

func TestMain(m *testing.M) { boxtest.Main(m) }

var (
	oldSeed = strings.Repeat("0a", 32)
	newSeed = strings.Repeat("f3", 32)
	seat    = ticket.Ticket{ID: "01a2034a-8bc0-7ba4-ba45-b3360d5225cc.A-1", ShowID: "show-1", SeatID: "A-1", Generation: 2}
)

func keys(t testing.TB, text string) *ticket.Keys {
	t.Helper()
	k, err := ticket.ParseKeys(text)
	require.NoError(t, err)
	return k
}

func sign(t testing.TB, k *ticket.Keys, x ticket.Ticket) string {
	t.Helper()
	code, err := k.Sign(x)
	require.NoError(t, err)
	return code
}

// published are the public keys as a scanner fetches them once, through their JSON.
func published(t testing.TB, k *ticket.Keys) ticket.PublicKeys {
	t.Helper()
	text, err := json.Marshal(k.Public())
	require.NoError(t, err)
	var public ticket.PublicKeys
	require.NoError(t, json.Unmarshal(text, &public))
	return public
}

func TestVerifyOffline(t *testing.T) {
	k := keys(t, newSeed)
	code := sign(t, k, seat)
	if len(code) > 320 {
		t.Errorf("the code has %d bytes", len(code))
	}
	got, err := ticket.Verify(published(t, k), code)
	if err != nil || got != seat {
		t.Errorf("%+v, %v", got, err)
	}
	assert.Equal(t, code, sign(t, k, seat), "the same ticket has two codes")
}

// The form is the standard's: this test knows it from RFC 7515 and RFC 8037 alone.
func TestStandardForm(t *testing.T) {
	k := keys(t, newSeed)
	text, err := json.Marshal(k.Public())
	require.NoError(t, err)
	var set struct {
		Keys []struct{ Kty, Crv, Alg, Use, Kid, X string }
	}
	if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	key := set.Keys[0]
	x, err := base64.RawURLEncoding.DecodeString(key.X)
	if err != nil || key.Kty != "OKP" || key.Crv != "Ed25519" || key.Alg != "EdDSA" || key.Use != "sig" {
		t.Fatalf("%+v, %v", key, err)
	}
	parts := strings.Split(sign(t, k, seat), ".")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !ed25519.Verify(x, []byte(parts[0]+"."+parts[1]), signature) {
		t.Errorf("the signature does not verify: %v", err)
	}
	var head, body map[string]any
	for i, into := range []*map[string]any{&head, &body} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		require.NoError(t, err)
	}
	if head["alg"] != "EdDSA" || head["kid"] != key.Kid || len(body) != 4 || body["seat"] != "A-1" || body["show"] != "show-1" || body["gen"] != 2.0 || body["tkt"] != seat.ID {
		t.Errorf("%v %v", head, body)
	}
}

func TestRefusedCodes(t *testing.T) {
	k := keys(t, newSeed)
	code := sign(t, k, seat)
	parts := strings.Split(code, ".")
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"tkt":"x.B-1","show":"show-1","seat":"B-1","gen":2}`))
	hmac := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"tkt": "x.A-1", "show": "show-1", "seat": "A-1", "gen": 1})
	none := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"tkt": "x.A-1", "show": "show-1", "seat": "A-1", "gen": 1})
	var kid string
	for kid = range k.Public() {
		hmac.Header["kid"], hmac.Header["typ"] = kid, "ticket"
		none.Header["kid"], none.Header["typ"] = kid, "ticket"
	}
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat("\xf3", 32)))
	signed := func(typ string, c jwt.MapClaims) string {
		x := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
		x.Header["typ"], x.Header["kid"] = typ, kid
		return must(t)(x.SignedString(private))
	}
	for name, c := range map[string]struct {
		code string
		want error
	}{
		"nothing":                         {"", ticket.ErrMalformed},
		"a word":                          {"hello", ticket.ErrMalformed},
		"two parts":                       {parts[0] + "." + parts[1], ticket.ErrMalformed},
		"too long":                        {code + strings.Repeat("A", ticket.MaxCode), ticket.ErrMalformed},
		"another seat":                    {parts[0] + "." + forged + "." + parts[2], ticket.ErrSignature},
		"no signature":                    {parts[0] + "." + parts[1] + ".", ticket.ErrSignature},
		"another office's":                {sign(t, keys(t, oldSeed), seat), ticket.ErrUnknownKey},
		"the public key used as a secret": {must(t)(hmac.SignedString([]byte(k.Public()[kid]))), ticket.ErrSignature},
		"no algorithm":                    {must(t)(none.SignedString(jwt.UnsafeAllowNoneSignatureType)), ticket.ErrSignature},
		"another kind":                    {signed("JWT", jwt.MapClaims{"tkt": "x.A-1", "show": "show-1", "seat": "A-1", "gen": 1}), ticket.ErrMalformed},
		"no seat":                         {signed("ticket", jwt.MapClaims{"tkt": "x.A-1", "show": "show-1", "gen": 1}), ticket.ErrMalformed},
		"no generation":                   {signed("ticket", jwt.MapClaims{"tkt": "x.A-1", "show": "show-1", "seat": "A-1"}), ticket.ErrMalformed},
	} {
		if got, err := ticket.Verify(k.Public(), c.code); !errors.Is(err, c.want) || got != (ticket.Ticket{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func must(t *testing.T) func(string, error) string {
	return func(s string, err error) string {
		t.Helper()
		require.NoError(t, err)
		return s
	}
}

func TestRotation(t *testing.T) {
	before := keys(t, oldSeed)
	old := sign(t, before, seat)
	during := keys(t, newSeed+"\n"+oldSeed+"\n")
	fresh := sign(t, during, seat)
	if fresh == old {
		t.Error("the first key does not sign")
	}
	for _, code := range []string{old, fresh} {
		if got, err := ticket.Verify(published(t, during), code); err != nil || got != seat {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := ticket.Verify(keys(t, newSeed).Public(), old); !errors.Is(err, ticket.ErrUnknownKey) {
		t.Errorf("after it was taken out: %v", err)
	}
}

func TestPrintingTellsNoKey(t *testing.T) {
	k := keys(t, newSeed)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(verb, k); !strings.Contains(text, "1 ticket keys") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}

func TestParseKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "there is no key",
		"abc":                   "key 1 of 1 is not 64 hexadecimal digits",
		newSeed + ", xyz":       "key 2 of 2 is not 64 hexadecimal digits",
		newSeed + "," + newSeed: "key 2 of 2 stands twice",
	} {
		if _, err := ticket.ParseKeys(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), newSeed) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var p ticket.PublicKeys
	for _, text := range []string{`[]`, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"AAAA"}]}`} {
		assert.Errorf(t, json.Unmarshal([]byte(text), &p), "%s was read", text)
	}
	if err := json.Unmarshal([]byte(`{"keys":[{"kty":"RSA","kid":"a"}]}`), &p); err != nil || len(p) != 0 {
		t.Errorf("a key of another kind: %v, %v", p, err)
	}
}

// The path paints the modules of the code's QR code, and leaves the frame empty.
func TestPicture(t *testing.T) {
	code := sign(t, keys(t, newSeed), seat)
	picture, err := ticket.Draw(code)
	require.NoError(t, err)
	painted := map[[2]int]bool{}
	for _, part := range strings.Split(strings.TrimSuffix(picture.Path, "z"), "z") {
		x, y, n := rectangle(t, part)
		for i := range n {
			painted[[2]int{x + i, y}] = true
		}
	}
	want, err := qr.Encode(code, qr.M)
	require.NoError(t, err)
	if picture.Size != want.Size+2*ticket.Quiet {
		t.Errorf("size %d of %d modules", picture.Size, want.Size)
	}
	for y := range picture.Size {
		for x := range picture.Size {
			require.Equalf(t, want.Black(x-ticket.Quiet, y-ticket.Quiet), painted[[2]int{x, y}], "the module %d, %d is wrong", x, y)
		}
	}
}

func FuzzVerify(f *testing.F) {
	k := keys(f, newSeed)
	good := sign(f, k, seat)
	for _, s := range []string{good, "", "a.b.c", good[:len(good)-1], strings.ToUpper(good)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, code string) {
		got, err := ticket.Verify(k.Public(), code)
		if err == nil && (code != good || got != seat) {
			t.Errorf("%q was taken for %+v", code, got)
		}
	})
}
