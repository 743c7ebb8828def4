package kafkabus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	saslplain "github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// security holds the encryption of connections and the credentials of this program.
type security struct {
	user          *url.Userinfo
	mechanism     string
	tls           bool
	ca, cert, key string

	tokenFile    string // of oauthbearer
	sessionToken string // of aws-msk-iam
	token        func(context.Context) (string, error)
	aws          func(ctx context.Context) (accessKey, secretKey, sessionToken string, err error)
}

const (
	plain       = "plain"
	scramSHA256 = "scram-sha-256"
	scramSHA512 = "scram-sha-512"
	oauthBearer = "oauthbearer"
	awsMSKIAM   = "aws-msk-iam"
)

var mechanisms = strings.Join([]string{plain, scramSHA256, scramSHA512, oauthBearer, awsMSKIAM}, ", ")

func (s security) validate() error {
	switch {
	case s.user != nil && s.mechanism == "":
		return fmt.Errorf("the URL has a user; say how to sign in with ?sasl= and one of %s", mechanisms)
	case !s.tls && (s.ca != "" || s.cert != "" || s.key != ""):
		return errors.New("parameters \"ca\", \"cert\" and \"key\" need tls=true")
	case (s.cert == "") != (s.key == ""):
		return errors.New("parameters \"cert\" and \"key\" belong together; give the file of each")
	case s.tokenFile != "" && s.mechanism != oauthBearer:
		return errors.New("parameter \"token_file\" needs sasl=" + oauthBearer)
	case s.sessionToken != "" && (s.mechanism != awsMSKIAM || s.user == nil):
		return errors.New("parameter \"session_token\" needs sasl=" + awsMSKIAM + " and the keys in the URL; write kafka://id:key@host:9098/?tls=true&sasl=" + awsMSKIAM)
	}
	switch s.mechanism {
	case "":
		return nil
	case plain, scramSHA256, scramSHA512:
		if s.user == nil {
			return errors.New("parameter \"sasl\" needs a user; write kafka://user:password@host:9092/?sasl=" + scramSHA512)
		}
		return s.namesUser()
	case oauthBearer:
		return s.validateToken()
	case awsMSKIAM:
		return s.validateAWS()
	}
	return fmt.Errorf("parameter \"sasl\" is %q; give one of %s", s.mechanism, mechanisms)
}

// namesUser fails if the user or the password is missing.
func (s security) namesUser() error {
	if s.user.Username() == "" || s.password() == "" {
		return errors.New("the URL has a user without a name or a password; write kafka://user:password@host:9092/")
	}
	return nil
}

func (s security) password() string {
	password, _ := s.user.Password() // also without a user
	return password
}

// exposed names the secrets that travel unencrypted; empty when there are none.
func (s security) exposed() string {
	switch {
	case s.tls:
		return ""
	case s.mechanism == plain:
		return "the password is sent unencrypted; use tls=true or a scram mechanism"
	case s.mechanism == oauthBearer:
		return "the token is sent unencrypted; use tls=true"
	}
	return ""
}

// options are those of a client that signs in and encrypts.
func (s security) options() (all []kgo.Opt, err error) {
	if s.tls {
		t, err := s.tlsConfig()
		if err != nil {
			return nil, err
		}
		all = append(all, kgo.DialTLSConfig(t))
	}
	if m := s.signIn(); m != nil {
		all = append(all, kgo.SASL(m))
	}
	return all, nil
}

func (s security) signIn() sasl.Mechanism {
	switch s.mechanism {
	case plain:
		return saslplain.Auth{User: s.user.Username(), Pass: s.password()}.AsMechanism()
	case scramSHA256:
		return scram.Auth{User: s.user.Username(), Pass: s.password()}.AsSha256Mechanism()
	case scramSHA512:
		return scram.Auth{User: s.user.Username(), Pass: s.password()}.AsSha512Mechanism()
	case oauthBearer:
		return bearer{s}
	case awsMSKIAM:
		return aws.ManagedStreamingIAM(s.awsKeys)
	}
	return nil
}

func (s security) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, fmt.Errorf("parameter \"ca\": %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("parameter \"ca\": %s holds no certificate in PEM", s.ca)
		}
	}
	if s.cert != "" {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return nil, fmt.Errorf("parameters \"cert\" and \"key\": %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}
