package gateway_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/gateway"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue"
)

// memberToken is the recipe of docs/gate.md, without any library.
func memberToken(secret, header, claims string) string {
	sum := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	return text + "." + encode(sum(sum([]byte(secret), "millrace/queue/member"), text))
}

const hs256 = `{"alg":"HS256","typ":"JWT"}`

func claimsOf(event, member, lane string, ends time.Time) string {
	return fmt.Sprintf(`{"aud":%q,"sub":%q,"lane":%q,"exp":%d}`, event, member, lane, ends.Unix())
}

func (c *client) signIn(home, token string) *client {
	u, err := url.Parse(home)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Jar.SetCookies(u, []*http.Cookie{{Name: "millrace-member", Value: token, Path: "/"}})
	return c
}

// A member joins in the lane, and has one place in all browsers. A token that the site has
// not signed for this event and time makes no visitor a member.
func TestMembers(t *testing.T) {
	at, _, _ := site(t)
	s := settings(at)
	s.Lanes = []queue.Lane{{Name: "gold", Share: 0.5}}
	server, _ := start(t, s)
	home := "http://" + server.Addr()
	check := home + "/millrace-gate/check/sale"
	first := visitor(t)
	first.want(503, "sale", "GET", home+"/", "")
	first.want(200, "the site", "GET", home+"/", "")
	later := time.Now().Add(time.Hour)
	valid := claimsOf("sale", "kim", "gold", later)
	secret := s.Secrets[0]
	visitor(t).signIn(home, memberToken(secret, hs256, valid)).want(200, `"position":1`, "POST", check, "")
	visitor(t).signIn(home, memberToken(secret, hs256, valid)).want(200, `"position":1`, "POST", check, "")
	visitor(t).signIn(home, memberToken(secret, hs256, claimsOf("sale", "lee", "silver", later))).want(200, `"position":2`, "POST", check, "")
	for what, token := range map[string]string{
		"of another secret": memberToken(strings.Repeat("x", 32), hs256, valid),
		"without signature": strings.TrimRight(memberToken(secret, `{"alg":"none"}`, valid), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
		"by none":           memberToken(secret, `{"alg":"none"}`, valid),
		"by HS512":          memberToken(secret, `{"alg":"HS512"}`, valid),
		"that has ended":    memberToken(secret, hs256, claimsOf("sale", "kim", "gold", time.Now().Add(-time.Minute))),
		"without an end":    memberToken(secret, hs256, `{"aud":"sale","sub":"kim","lane":"gold"}`),
		"of another event":  memberToken(secret, hs256, claimsOf("fair", "kim", "gold", later)),
		"of no event":       memberToken(secret, hs256, fmt.Sprintf(`{"sub":"kim","lane":"gold","exp":%d}`, later.Unix())),
		"of no member":      memberToken(secret, hs256, claimsOf("sale", "", "gold", later)),
		"of an odd member":  memberToken(secret, hs256, claimsOf("sale", "kim\n", "gold", later)),
		"too long":          memberToken(secret, hs256, claimsOf("sale", strings.Repeat("k", 201), "gold", later)),
		"no token":          "gold",
	} {
		status, said := visitor(t).signIn(home, token).do("POST", check, "")
		if status != http.StatusForbidden || !strings.Contains(said, "cookies-needed") {
			t.Errorf("a token %s: %d %.200s", what, status, said)
		}
	}
	s.Secrets = []string{strings.Repeat("m", 32), secret}
	require.NoError(t, server.Reload(s))
	visitor(t).signIn(home, memberToken(secret, hs256, valid)).want(200, `"position":1`, "POST", check, "")
	visitor(t).signIn(home, memberToken(s.Secrets[0], hs256, valid)).want(200, `"position":1`, "POST", check, "")
	visitor(t).want(200, `"queueSize":2`, "GET", "http://"+server.AdminAddr()+"/room", "")
}

// An operator turns the challenge on and off at one gate, and it holds in both. Visitors in line
// notice nothing. It outlives a loss of Redis' data with a restart, and wins over the flag.
func TestChallengeSwitch(t *testing.T) {
	at, _, _ := site(t)
	s := settings(at)
	own := redistest.StartServer(t)
	s.Redis, s.Kept = own.URL(), filepath.Join(t.TempDir(), "settings.json")
	first, end := start(t, s)
	second, _ := start(t, s)
	home := func(server *gateway.Server) string { return "http://" + server.Addr() }
	room := func(server *gateway.Server) string { return "http://" + server.AdminAddr() + "/room" }
	const check = "/millrace-gate/check/sale"
	op, inside, waiting := visitor(t), visitor(t), visitor(t)
	for _, c := range []*client{inside, waiting, inside, waiting} {
		c.do("GET", home(first)+"/", "")
	}
	newcomer := func(server *gateway.Server) (status int, text string) {
		t.Helper()
		v := visitor(t)
		v.want(503, "sale", "GET", home(server)+"/", "")
		return v.do("POST", home(server)+check, "")
	}
	// asked sees the switch at once in the gate that the operator asked, and within the room's
	// refresh in the other.
	asked := func(status int, text string, gates ...*gateway.Server) {
		t.Helper()
		for i, server := range gates {
			got, said := newcomer(server)
			for began := time.Now(); i > 0 && got != status && time.Since(began) < 10*time.Second; {
				got, said = newcomer(server)
			}
			if got != status || !strings.Contains(said, text) {
				t.Errorf("a newcomer at gate %d: %d %.300s, want %d with %q", i, got, said, status, text)
			}
		}
	}
	op.want(200, `"challenged":false`, "GET", room(second), "")
	op.want(200, `"challenged":true`, "PUT", room(first)+"/challenge", `{"on": true}`)
	asked(403, "challenge-needed", first, second)
	waiting.want(200, `"position":1`, "POST", home(second)+check, "")
	for _, wrong := range []string{"", "{}", `{"on": "yes"}`, `{"off": true}`} {
		op.want(400, "/problems/invalid-request", "PUT", room(first)+"/challenge", wrong)
	}
	op.want(200, `"challenged":true`, "GET", room(second), "")
	require.NoError(t, first.Reload(s))
	asked(403, "challenge-needed", first)

	end()
	options, err := redis.ParseURL(s.Redis)
	require.NoError(t, err)
	client := redis.NewClient(options)
	defer client.Close() //nolint:errcheck // it only lost data
	require.NoError(t, client.FlushAll(t.Context()).Err())
	first, _ = start(t, s)
	asked(403, "challenge-needed", first)
	asked(403, "challenge-needed", second)
	op.want(200, `"challenged":false`, "PUT", room(second)+"/challenge", `{"on": false}`)
	asked(200, `"queued":true`, second, first)
	s.Challenge = true
	require.NoError(t, first.Reload(s))
	asked(200, `"queued":true`, first)
}

// Without --redis and --settings the switch is saved with the room.
func TestChallengeSwitchOfAFile(t *testing.T) {
	at, _, _ := site(t)
	s := persistent(t, at)
	server, stop := start(t, s)
	visitor(t).want(200, `"challenged":true`, "PUT", "http://"+server.AdminAddr()+"/room/challenge", `{"on": true}`)
	stop()
	server, _ = start(t, s)
	visitor(t).want(200, `"challenged":true`, "GET", "http://"+server.AdminAddr()+"/room", "")
	v := visitor(t)
	v.do("GET", "http://"+server.Addr()+"/", "")
	v.want(403, "challenge-needed", "POST", "http://"+server.Addr()+"/millrace-gate/check/sale", "")
}
