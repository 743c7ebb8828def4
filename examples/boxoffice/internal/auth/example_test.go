package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
)

func ExampleNewLogin() {
	login, err := auth.NewLogin("a secret of at least 32 bytes, from a file")
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _, err := login.Issue("ann")
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodGet, "/api/me/tickets", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	fmt.Println(login.Member(r))

	_, err = auth.NewLogin("short")
	fmt.Println(err)
	// Output:
	// ann <nil>
	// auth: the secret is 5 bytes long; use at least 32, such as the output of: openssl rand -hex 32
}
