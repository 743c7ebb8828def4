package token_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue/token"
)

func TestShortSecrets(t *testing.T) {
	short := strings.Repeat("s", token.MinSecret-1)
	for _, secrets := range [][]string{{}, {""}, {short}, {newSecret, short}} {
		r, err := token.NewRing(secrets...)
		if err == nil || r != nil {
			t.Errorf("a ring of %d secrets was made: %v", len(secrets), err)
			continue
		}
		if strings.Contains(err.Error(), short) || strings.Contains(err.Error(), newSecret) {
			t.Errorf("the error tells a secret: %v", err)
		}
		assert.Containsf(t, err.Error(), "openssl rand -hex 32", "the error does not say what to do: %v", err)
	}
	_, err := token.NewRing(strings.Repeat("s", token.MinSecret))
	assert.NoError(t, err, "a secret of the least length")
}

// Printing a value that holds keys, as a log of a configuration does, shows none.
func TestPrintingTellsNoKey(t *testing.T) {
	r := ring(t, newSecret)
	secrets := map[string][]byte{"the secret": []byte(newSecret)}
	for _, purpose := range []string{"entry", "gate", "ticket", "request", "pass"} {
		mac := hmac.New(sha256.New, []byte(newSecret))
		mac.Write([]byte("millrace/queue/" + purpose))
		secrets["the key for "+purpose] = mac.Sum(nil)
	}
	for name, v := range map[string]any{
		"ring": r, "ring by value": *r, "entries": entries(t, newSecret), "gates": gates(t, newSecret),
		"tickets": seal.NewTickets(r), "requests": seal.NewRequests(r), "passes": tokens.NewPasses(r), "passes by value": *tokens.NewPasses(r),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text := fmt.Sprintf(verb, v)
			for what, secret := range secrets {
				head := secret[:4]
				for _, form := range []string{string(secret), fmt.Sprintf("%x", head), fmt.Sprintf("%d", head), strings.Trim(fmt.Sprintf("%#v", head), "[]byte{}")} {
					assert.NotContainsf(t, text, strings.Trim(form, "[]"), "%s with %s prints %s: %s", name, verb, what, text)
				}
			}
		}
	}
}

// A new secret goes first; tokens signed by the old one stay valid until it is
// taken out.
func TestRotation(t *testing.T) {
	before, after, over := []string{oldSecret}, []string{newSecret, oldSecret}, []string{newSecret}
	kinds := map[string]struct {
		issue  func(secrets []string) string
		verify func(secrets []string, text string) error
	}{
		"entry": {
			func(s []string) string {
				return must(entries(t, s...).Issue(token.EntryClaims{Event: "e", User: "u", ID: "1"}))
			},
			func(s []string, text string) error { _, err := entries(t, s...).Verify(text, "e"); return err },
		},
		"gate": {
			func(s []string) string { return must(gates(t, s...).Issue(tokens.GateClaims{Event: "e", Position: 1})) },
			func(s []string, text string) error { _, err := gates(t, s...).Verify(text, "e"); return err },
		},
		"ticket": {
			func(s []string) string {
				return seal.NewTickets(ring(t, s...)).Seal(seal.Ticket{Event: "e", User: "u", Epoch: 1, Order: 2})
			},
			func(s []string, text string) error {
				_, err := seal.NewTickets(ring(t, s...)).Open(text, "e", "u")
				return err
			},
		},
		"request": {
			func(s []string) string {
				return seal.NewRequests(ring(t, s...)).Seal(seal.Request{Event: "e", Position: 1, Issued: time.Now()})
			},
			func(s []string, text string) error {
				_, err := seal.NewRequests(ring(t, s...)).Open(text, "e", "")
				return err
			},
		},
		"pass": {
			func(s []string) string {
				return tokens.NewPasses(ring(t, s...)).Sign(tokens.Pass{Method: "GET", Path: "/"})
			},
			func(s []string, text string) error {
				return tokens.NewPasses(ring(t, s...)).Check(text, tokens.Pass{Method: "GET", Path: "/"})
			},
		},
	}
	for name, k := range kinds {
		signedByOld, signedByNew := k.issue(before), k.issue(after)
		for _, c := range []struct {
			what    string
			secrets []string
			text    string
			want    error
		}{
			{"old, before", before, signedByOld, nil},
			{"old, after", after, signedByOld, nil},
			{"new, after", after, signedByNew, nil},
			{"new, when the old one is out", over, signedByNew, nil},
			{"old, when the old one is out", over, signedByOld, seal.ErrSignature},
			{"new, on a machine that has only the old one", before, signedByNew, seal.ErrSignature},
		} {
			assert.ErrorIsf(t, k.verify(c.secrets, c.text), c.want, "%s: %s", name, c.what)
		}
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}
