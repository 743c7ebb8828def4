package gateway_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

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
	if err := server.Reload(s); err != nil {
		t.Fatal(err)
	}
	visitor(t).signIn(home, memberToken(secret, hs256, valid)).want(200, `"position":1`, "POST", check, "")
	visitor(t).signIn(home, memberToken(s.Secrets[0], hs256, valid)).want(200, `"position":1`, "POST", check, "")
	visitor(t).want(200, `"queueSize":2`, "GET", "http://"+server.AdminAddr()+"/room", "")
}

// An operator turns the challenge on and off. Visitors in line notice nothing, and a reload
// reads the flag again.
func TestChallengeSwitch(t *testing.T) {
	at, _, _ := site(t)
	s := settings(at)
	server, _ := start(t, s)
	home, switched := "http://"+server.Addr(), "http://"+server.AdminAddr()+"/room/challenge"
	check, op := home+"/millrace-gate/check/sale", visitor(t)
	inside, waiting := visitor(t), visitor(t)
	for _, c := range []*client{inside, waiting, inside, waiting} {
		c.do("GET", home+"/", "")
	}
	newcomer := func(status int, text string) {
		t.Helper()
		v := visitor(t)
		v.want(503, "sale", "GET", home+"/", "")
		v.want(status, text, "POST", check, "")
	}
	op.want(200, `{"on":false}`, "GET", switched, "")
	op.want(200, `{"on":true}`, "PUT", switched, `{"on": true}`)
	newcomer(403, "challenge-needed")
	waiting.want(200, `"position":1`, "POST", check, "")
	for _, wrong := range []string{"", "{}", `{"on": "yes"}`, `{"off": true}`} {
		op.want(400, `send {"on": true}`, "PUT", switched, wrong)
	}
	op.want(200, `{"on":true}`, "GET", switched, "")
	op.want(200, `{"on":false}`, "PUT", switched, `{"on": false}`)
	newcomer(200, `"position":2`)
	op.want(200, `{"on":true}`, "PUT", switched, `{"on": true}`)
	if err := server.Reload(s); err != nil {
		t.Fatal(err)
	}
	newcomer(200, `"position":3`)
}
