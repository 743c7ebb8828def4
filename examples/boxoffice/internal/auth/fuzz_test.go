package auth

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// For any header, the sign-in is the member it was issued to, or nobody; and only one
// spelling is the admin token.
func FuzzMember(f *testing.F) {
	l, err := NewLogin(secretA)
	require.NoError(f, err)
	signed, _, err := l.Issue("ann")
	require.NoError(f, err)
	f.Add("Bearer " + signed)
	f.Add("bearer  " + signed + " ")
	f.Add("Bearer eyJhbGciOiJub25lIn0.e30.")
	f.Add("Basic YTpi")
	f.Add("Bearer " + secretA)
	f.Fuzz(func(t *testing.T, header string) {
		r := request("", "")
		r.Header["Authorization"] = []string{header}
		member, err := l.Member(r)
		_, token, _ := strings.Cut(header, " ")
		token = strings.TrimSpace(token)
		if err == nil && member != "ann" || err != nil && member != "" {
			t.Fatalf("%q is %q, %v", header, member, err)
		}
		if IsAdmin(r, secretA) && token != secretA || IsAdmin(r, "") {
			t.Fatalf("%q is an operator", header)
		}
	})
}

// A member's id needs no escaping anywhere.
func FuzzCheckMember(f *testing.F) {
	f.Add("ann")
	f.Add("ann\n")
	f.Add("../ann")
	harmless := regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)
	f.Fuzz(func(t *testing.T, id string) {
		require.Equalf(t, harmless.MatchString(id), CheckMember(id) == nil, "%q", id)
	})
}
