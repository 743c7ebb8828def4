// Package awsaccount is the account of AWS that a URL names: a region, the credentials, and
// the role that they assume.
//
//	a, err := awsaccount.Of(u, "session_token's value", "role's", "external_id's")
//	cfg, transport, err := a.Load(ctx, nil)
//	client := sqs.NewFromConfig(cfg)
//	defer transport.CloseIdleConnections()
package awsaccount

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// Account is the account of a URL. The zero value of a field leaves it to the AWS tools.
type Account struct {
	Region       string
	Key, Secret  string // together, or neither
	SessionToken string // of keys that expire
	Role         string // the ARN of a role to assume
	ExternalID   string // required by the role's trust policy
	CA           string // the PEM file of an authority to trust beside the system's
}

// Of reads scheme://key:secret@region and the parameters session_token, role and
// external_id, which the caller has taken from the query.
func Of(u *url.URL, sessionToken, role, externalID string) (a Account, err error) {
	switch {
	case u.Hostname() == "":
		return a, fmt.Errorf("the URL names no region; write %s://eu-central-1", u.Scheme)
	case u.Port() != "":
		return a, errors.New("the URL's host is a region and has no port; name a server by ?endpoint=http://host:port")
	}
	a = Account{Region: u.Hostname(), SessionToken: sessionToken, Role: role, ExternalID: externalID}
	if u.User != nil {
		a.Key = u.User.Username()
		if a.Secret, _ = u.User.Password(); a.Secret == "" || a.Key == "" {
			return Account{}, fmt.Errorf("the URL has half a credential; write %s://key:secret@region, or no user at all", u.Scheme)
		}
	}
	if err := a.validate(u.Scheme); err != nil {
		return Account{}, err
	}
	return a, nil
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
