package sqsbus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/bus/sqsbus/internal/awsaccount"
	"github.com/millrace-go/millrace/internal/rawurl"
)

// A URL of SQS is a region and a whole credential, or is refused without the secret.
func FuzzAddress(f *testing.F) {
	f.Add("", "eu-central-1", "")
	f.Add("/x", "eu-central-1:443/q", "http://127.0.0.1:9324")
	f.Add("+", "r", "http://u:hunter2@h")
	f.Add("", "r", "ftp://h")
	f.Add("", ":", "")
	f.Add("", "r?role=arn:aws:iam::123456789012:role/x&external_id=1 2", "")
	f.Fuzz(func(t *testing.T, secret, rest, endpoint string) {
		const mark = "s3cr3t-9q"
		u, err := rawurl.Parse("sqs://key:" + mark + secret + "@" + rest)
		if err != nil || strings.Contains(rest+endpoint, mark) {
			return
		}
		q := u.Query()
		q.Set("endpoint", endpoint)
		q.Set("session_token", mark+secret)
		q.Del("cacertfile")
		u.RawQuery = q.Encode()
		a, err := awsaccount.Of(u)
		if err != nil {
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), mark) {
				t.Fatal(err)
			}
			return
		}
		if a.Region == "" || strings.ContainsAny(a.Region, "/@") || a.Key == "" || !strings.HasPrefix(a.Secret, mark) || a.SessionToken == "" || a.Endpoint != endpoint {
			t.Fatalf("%q is the region %q", rest, a.Region)
		}
	})
}
