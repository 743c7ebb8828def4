package sqsbus_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/fault"
)

const testRole = "arn:aws:iam::123456789012:role/notices"

// amazon answers as SQS and STS do, and notes the credentials of each request. Requests to
// STS are forms, those to SQS are JSON.
type amazon struct {
	*httptest.Server
	refusal string        // of SQS or STS, as XML or JSON has it; none if it is empty
	life    time.Duration // of a role's keys

	mu      sync.Mutex
	signed  []string     // by which key and token each request to SQS was
	assumed []url.Values // the requests to STS
	asked   []string     // by which key and token they were signed
}

func startAmazon(t *testing.T) *amazon {
	t.Helper()
	a := &amazon{life: time.Hour}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	t.Setenv("AWS_ENDPOINT_URL_STS", a.URL)
	return a
}

// signer is the key of the signature, its service, and the session token.
func signer(r *http.Request) string {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	parts := strings.Split(credential, "/")
	if len(parts) < 4 {
		return "nobody"
	}
	return parts[0] + " " + parts[3] + " " + r.Header.Get("X-Amz-Security-Token")
}

func (a *amazon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("X-Amz-Target") != "" {
		a.signed = append(a.signed, signer(r))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if a.refusal != "" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#SignatureDoesNotMatch","message":%q}`, a.refusal)
			return
		}
		fmt.Fprint(w, `{"QueueUrls":[]}`)
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.asked, a.assumed = append(a.asked, signer(r)), append(a.assumed, r.PostForm)
	w.Header().Set("Content-Type", "text/xml")
	if a.refusal != "" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>`)
		xml.EscapeText(w, []byte(a.refusal)) //nolint:errcheck // the client sees what is missing
		fmt.Fprint(w, `</Message></Error></ErrorResponse>`)
		return
	}
	fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE%d</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
		<SessionToken>role-token</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
		len(a.assumed), time.Now().Add(a.life).UTC().Format(time.RFC3339))
}

// at is a URL whose servers are these.
func (a *amazon) at(user string, parameters url.Values) string {
	parameters.Set("endpoint", a.URL)
	return "sqs://" + user + "eu-central-1?" + parameters.Encode()
}

func (a *amazon) check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestSessionToken(t *testing.T) {
	a := startAmazon(t)
	b := open(t, sqsbus.Config{}, a.at("key:secret@", url.Values{"session_token": {"t+0/k="}}))
	require.NoError(t, b.Ping(t.Context()))
	a.check(t, "SQS is asked by", a.signed, "key sqs t+0/k=")
	a.check(t, "STS is asked by", a.asked)
}

// STS receives the credentials that were found, in the URL or by the AWS tools, and SQS
// those of the role.
func TestRole(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "found")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "found-token")
	for user, want := range map[string]string{"": "found sts found-token", "key:secret@": "key sts "} {
		a := startAmazon(t)
		b := open(t, sqsbus.Config{}, a.at(user, url.Values{"role": {testRole}, "external_id": {"customer-7"}}))
		for range 2 {
			require.NoError(t, b.Ping(t.Context()))
		}
		a.check(t, "STS is asked by", a.asked, want)
		a.check(t, "SQS is asked by", a.signed, "ROLE1 sqs role-token", "ROLE1 sqs role-token")
		for name, want := range map[string]string{"Action": "AssumeRole", "RoleArn": testRole, "ExternalId": "customer-7", "RoleSessionName": "millrace"} {
			if got := a.assumed[0].Get(name); got != want {
				t.Errorf("STS is asked for the %s %q, want %q", name, got, want)
			}
		}
	}
}

// The keys of a role that end within a minute are replaced before they are used.
func TestRoleIsAssumedAgain(t *testing.T) {
	a := startAmazon(t)
	a.life = 30 * time.Second
	b := open(t, sqsbus.Config{}, a.at("key:secret@", url.Values{"role": {testRole}}))
	for range 2 {
		require.NoError(t, b.Ping(t.Context()))
	}
	a.check(t, "SQS is asked by", a.signed, "ROLE1 sqs role-token", "ROLE2 sqs role-token")
	assert.False(t, a.assumed[0].Has("ExternalId"), "STS is given an external id that the URL does not have")
}

// A refusal of SQS or STS is infrastructure, and reported without a secret.
func TestCredentialErrors(t *testing.T) {
	a := startAmazon(t)
	a.refusal = "refused for a reason\nThe canonical string should have been x-amz-security-token:hunter2"
	for name, want := range map[string]string{"": "reason", testRole: `parameter "role": ` + testRole} {
		parameters := url.Values{"session_token": {"hunter2"}}
		if name != "" {
			parameters.Set("role", name)
		}
		err := open(t, sqsbus.Config{}, a.at("key:hunter2@", parameters)).Ping(t.Context())
		if fault.Of(err) != fault.Infrastructure || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "for a reason") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("role %q: %v (%v); want it to say %s, and no secret", name, err, fault.Of(err), want)
		}
	}
}
