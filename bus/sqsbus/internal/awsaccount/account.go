// Package awsaccount is the account of AWS that a URL names: a region, the credentials, and
// the role that they assume; or another server with the protocol of AWS.
//
//	a, err := awsaccount.Of(u)
//	cfg, transport, err := a.Load(ctx, nil)
//	client := sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.BaseEndpoint = a.Base(o.BaseEndpoint) })
//	defer transport.CloseIdleConnections()
package awsaccount

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// Account is the account of a URL. The zero value of a field leaves it to the AWS tools.
type Account struct {
	Region       string
	Key, Secret  string // together, or neither
	SessionToken string // of keys that expire
	Role         string // the ARN of a role to assume
	ExternalID   string // required by the role's trust policy
	Endpoint     string // another server
	CA           string // the PEM file of an authority to trust beside the system's
}

// Parameters lists the parameters of a URL that [Of] reads.
func Parameters() []string {
	return []string{"session_token", "role", "external_id", "endpoint", "cacertfile"}
}

// Base returns the base endpoint of a client, which has found have.
func (a Account) Base(have *string) *string {
	if a.Endpoint == "" {
		return have
	}
	return &a.Endpoint
}

// Of reads scheme://key:secret@region and the [Parameters].
func Of(u *url.URL) (Account, error) {
	q := u.Query()
	a := Account{
		Region: u.Hostname(), SessionToken: q.Get("session_token"), Role: q.Get("role"), ExternalID: q.Get("external_id"),
		Endpoint: q.Get("endpoint"), CA: q.Get("cacertfile"), Key: u.User.Username(),
	}
	a.Secret, _ = u.User.Password()
	switch {
	case u.Path != "" && u.Path != "/":
		return Account{}, errors.New("the URL has a path, and needs none; topics name the queues, and ?prefix= goes before all of them")
	case a.Endpoint != "" && !isServer(a.Endpoint):
		return Account{}, errors.New("the endpoint is no URL of a server; write ?endpoint=http://host:port")
	case a.CA != "" && !strings.HasPrefix(a.Endpoint, "https://"):
		return Account{}, errors.New("parameter \"cacertfile\" needs a server with TLS; write endpoint=https://host:port")
	case a.Region == "":
		return Account{}, fmt.Errorf("the URL names no region; write %s://eu-central-1", u.Scheme)
	case u.Port() != "":
		return Account{}, errors.New("the URL's host is a region and has no port; name a server by ?endpoint=http://host:port")
	case u.User != nil && (a.Secret == "" || a.Key == ""):
		return Account{}, fmt.Errorf("the URL has half a credential; write %s://key:secret@region, or no user at all", u.Scheme)
	}
	if err := a.validate(u.Scheme); err != nil {
		return Account{}, err
	}
	return a, nil
}

func isServer(endpoint string) bool {
	e, err := kit.ParseURL(endpoint)
	return err == nil && (e.Scheme == "http" || e.Scheme == "https") && e.Host != "" && e.User == nil
}

func (a Account) validate(scheme string) error {
	switch {
	case a.SessionToken != "" && a.Key == "":
		return fmt.Errorf("parameter \"session_token\" needs the keys in the URL; write %s://key:secret@region?session_token=token", scheme)
	case a.Role != "" && !isRole(a.Role):
		return fmt.Errorf("parameter \"role\" is %.100q; give the ARN of a role, such as arn:aws:iam::123456789012:role/name", a.Role)
	case a.ExternalID != "" && a.Role == "":
		return errors.New("parameter \"external_id\" needs a role; add role=arn:aws:iam::123456789012:role/name")
	case a.ExternalID != "" && (len(a.ExternalID) < 2 || len(a.ExternalID) > 1224 || strings.IndexFunc(a.ExternalID, notInExternalID) >= 0):
		return errors.New("parameter \"external_id\" is not one that AWS takes; give 2 to 1224 letters, digits and +=,.@:/-_")
	}
	return nil
}

func isRole(s string) bool {
	a, err := arn.Parse(s)
	name, ok := strings.CutPrefix(a.Resource, "role/")
	return err == nil && a.Service == "iam" && a.AccountID != "" && ok && name != ""
}

func notInExternalID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("+=,.@:/-_", r)
}
