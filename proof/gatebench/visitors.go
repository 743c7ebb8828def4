package gatebench

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/queue/token"
)

// event is the room.
const event = "sale"

// visitors makes the cookies of new people.
type visitors struct{ tokens *seal.Visitors }

func newVisitors() (visitors, error) {
	ring, err := token.NewRing(secret)
	if err != nil {
		return visitors{}, err
	}
	return visitors{seal.NewVisitors(ring)}, nil
}

func (v visitors) cookie() string {
	text, _ := v.tokens.Issue()
	return "millrace-visitor=" + text
}

// enter takes people inside, and returns the requests that they make.
func (v visitors) enter(ctx context.Context, at string, count int) (requests [][]byte, err error) {
	client := http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for range count {
		cookie := v.cookie()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/", nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Cookie", cookie)
		answer, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close() // it has none
		passes := answer.Cookies()
		if answer.StatusCode != http.StatusSeeOther || len(passes) != 1 {
			return nil, fmt.Errorf("the gate did not let a visitor in: %s", answer.Status)
		}
		requests = append(requests, []byte(strings.Join([]string{
			"GET /seats?row=7 HTTP/1.1", "Host: " + at, "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
			"Accept: text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Language: en", "Accept-Encoding: gzip, deflate, br",
			"Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: same-origin",
			"Cookie: " + cookie + "; " + passes[0].Name + "=" + passes[0].Value, "", "",
		}, "\r\n")))
	}
	return requests, nil
}
