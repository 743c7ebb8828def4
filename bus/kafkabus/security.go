package kafkabus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	saslplain "github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// security is how connections are encrypted and who we are.
type security struct {
	user          *url.Userinfo
	mechanism     string
	tls           bool
	ca, cert, key string
}

func (s security) validate() error {
	password, given := "", false
	if s.user != nil {
		password, given = s.user.Password()
	}
	switch {
	case s.user == nil && s.mechanism != "":
		return errors.New("parameter \"sasl\" needs a user; write kafka://user:password@host:9092/?sasl=" + scramSHA512)
	case s.user != nil && (s.user.Username() == "" || !given || password == ""):
		return errors.New("the URL has a user without a name or a password; write kafka://user:password@host:9092/")
	case s.user != nil && s.mechanism == "":
		return fmt.Errorf("the URL has a user; say how to sign in with ?sasl=%s, %s or %s", plain, scramSHA256, scramSHA512)
	case !s.tls && (s.ca != "" || s.cert != "" || s.key != ""):
		return errors.New("parameters \"ca\", \"cert\" and \"key\" need tls=true")
	case (s.cert == "") != (s.key == ""):
		return errors.New("parameters \"cert\" and \"key\" belong together; give the file of each")
	}
	switch s.mechanism {
	case "", plain, scramSHA256, scramSHA512:
		return nil
	}
	return fmt.Errorf("parameter \"sasl\" is %q; give %s, %s or %s", s.mechanism, plain, scramSHA256, scramSHA512)
}

const (
	plain       = "plain"
	scramSHA256 = "scram-sha-256"
	scramSHA512 = "scram-sha-512"
)

// exposed reports whether the password travels readable by anybody between.
func (s security) exposed() bool { return s.mechanism == plain && !s.tls }

// options are those of a client that signs in and encrypts.
func (s security) options() (all []kgo.Opt, err error) {
	if s.tls {
		t, err := s.tlsConfig()
		if err != nil {
			return nil, err
		}
		all = append(all, kgo.DialTLSConfig(t))
	}
	if s.user == nil {
		return all, nil
	}
	user := s.user.Username()
	password, _ := s.user.Password()
	switch s.mechanism {
	case plain:
		all = append(all, kgo.SASL(saslplain.Auth{User: user, Pass: password}.AsMechanism()))
	case scramSHA256:
		all = append(all, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	case scramSHA512:
		all = append(all, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()))
	}
	return all, nil
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

// apply writes the settings into the client's configuration.
func (s security) apply(c *sarama.Config) error {
	if s.tls {
		t, err := s.tlsConfig()
		if err != nil {
			return err
		}
		c.Net.TLS.Enable, c.Net.TLS.Config = true, t
	}
	if s.user == nil {
		return nil
	}
	c.Net.SASL.Enable = true
	c.Net.SASL.User = s.user.Username()
	c.Net.SASL.Password, _ = s.user.Password()
	switch s.mechanism {
	case plain:
		c.Net.SASL.Mechanism = sarama.SASLTypePlaintext
	case scramSHA256:
		c.Net.SASL.Mechanism = sarama.SASLTypeSCRAMSHA256
		c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{mechanism: scram.Auth.AsSha256Mechanism} }
	case scramSHA512:
		c.Net.SASL.Mechanism = sarama.SASLTypeSCRAMSHA512
		c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{mechanism: scram.Auth.AsSha512Mechanism} }
	}
	return nil
}

// scramClient lends sarama franz-go's SCRAM; sarama has none of its own.
type scramClient struct {
	mechanism func(scram.Auth) sasl.Mechanism
	session   sasl.Session
	first     []byte
	done      bool
}

func (c *scramClient) Begin(user, password, authzID string) (err error) {
	auth := scram.Auth{Zid: authzID, User: user, Pass: password}
	c.session, c.first, err = c.mechanism(auth).Authenticate(context.Background(), "")
	return err
}

func (c *scramClient) Step(challenge string) (string, error) {
	if c.first != nil {
		first := string(c.first)
		c.first = nil
		return first, nil
	}
	done, response, err := c.session.Challenge([]byte(challenge))
	c.done = done
	return string(response), err
}

func (c *scramClient) Done() bool { return c.done }
