package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/golang-jwt/jwt/v5"

	"github.com/millrace-go/millrace/queue"
)

// memberCookie is a cookie that the site sets when a member signs in: a JWT by HS256 with
// the claims aud (the event), sub (the member), exp, and lane. docs/gate.md has the recipe.
const memberCookie = "millrace-member"

const (
	maxMemberCookie = 4096
	maxMember       = 200 // bytes; with the prefix it is a user of the room
	// memberPrefix keeps members apart from browsers, whose users have no colon.
	memberPrefix = "member:"
)

// members verifies the cookies of members.
type members struct {
	keys   jwt.VerificationKeySet
	parser *jwt.Parser
	lanes  []queue.Lane
	logger *slog.Logger
	told   sync.Once // of a lane that is not there
}

// newMembers makes a members. The keys are not those of the gate's own cookies, so that a
// site with the key of members can make no passes.
func newMembers(s Settings) *members {
	m := &members{lanes: s.Lanes, logger: s.Logger}
	for _, secret := range s.Secrets {
		key := hmac.New(sha256.New, []byte(secret))
		key.Write([]byte("millrace/queue/member"))
		m.keys.Keys = append(m.keys.Keys, key.Sum(nil))
	}
	m.parser = jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithAudience(s.Event), jwt.WithExpirationRequired(), jwt.WithStrictDecoding())
	return m
}

type memberClaims struct {
	jwt.RegisteredClaims
	Lane string `json:"lane"`
}

// of is a gate.Config.Member.
func (m *members) of(r *http.Request) (user, lane string) {
	for _, c := range r.CookiesNamed(memberCookie) {
		var claims memberClaims
		if len(c.Value) > maxMemberCookie {
			continue
		}
		if _, err := m.parser.ParseWithClaims(c.Value, &claims, func(*jwt.Token) (any, error) { return m.keys, nil }); err != nil || !isMember(claims.Subject) {
			continue // of another site of the domain, or ended: the visitor is the browser
		}
		return memberPrefix + claims.Subject, m.known(claims.Lane)
	}
	return "", ""
}

// isMember refuses names that cannot stand in a header for the site.
func isMember(name string) bool {
	return name != "" && len(name) <= maxMember && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' })
}

// known is a lane if the room has it. The others of the site's lanes are a mistake of the
// site's or the operator's, for which no visitor is refused.
func (m *members) known(name string) string {
	for _, lane := range m.lanes {
		if lane.Name == name {
			return name
		}
	}
	if name != "" {
		m.told.Do(func() {
			m.logger.Warn("gate: the site names a lane that --lane does not; its members wait without one", slog.String("lane", name))
		})
	}
	return ""
}
