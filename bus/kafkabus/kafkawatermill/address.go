package kafkawatermill

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/millrace-go/millrace/bus/kafkabus"
)

// address is the brokers of a URL, and the sign-in there, in Sarama's terms.
type address struct {
	brokers  []string
	clientID string
	tls      *tls.Config
	signIn   func(*sarama.Config)
}

// addressOf reads the address from a client that the native transport makes of the URL.
func addressOf(u *url.URL, native kafkabus.Config) (address, error) {
	c, err := kafkabus.Client(u.String(), native)
	if err != nil {
		return address{}, err
	}
	defer c.Close() // it has not connected
	var to address
	to.brokers, _ = c.OptValue(kgo.SeedBrokers).([]string)
	to.clientID, _ = c.OptValue(kgo.ClientID).(string)
	to.tls, _ = c.OptValue(kgo.DialTLSConfig).(*tls.Config)
	mechanisms, _ := c.OptValue(kgo.SASL).([]sasl.Mechanism)
	if to.signIn, err = signIn(u, mechanisms); err != nil {
		return address{}, err
	}
	return to, nil
}

func signIn(u *url.URL, mechanisms []sasl.Mechanism) (func(*sarama.Config), error) {
	if len(mechanisms) == 0 {
		return func(*sarama.Config) {}, nil
	}
	m := mechanisms[0]
	how := func(c *sarama.Config) {
		c.Net.SASL.Enable, c.Net.SASL.Mechanism = true, sarama.SASLMechanism(m.Name())
		if u.User != nil {
			c.Net.SASL.User = u.User.Username()
			c.Net.SASL.Password, _ = u.User.Password()
		}
	}
	switch m.Name() {
	case sarama.SASLTypePlaintext:
		return how, nil
	case sarama.SASLTypeSCRAMSHA256, sarama.SASLTypeSCRAMSHA512:
		return func(c *sarama.Config) {
			how(c)
			c.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &exchange{mechanism: m} }
		}, nil
	case sarama.SASLTypeOAuth:
		return func(c *sarama.Config) {
			how(c)
			c.Net.SASL.TokenProvider = tokens{m}
		}, nil
	}
	return nil, fmt.Errorf("parameter \"sasl\": Sarama cannot sign in with %s; use plain, scram-sha-256, scram-sha-512 or oauthbearer, or the native transport", m.Name())
}

// exchange is a mechanism of franz-go, as Sarama steps through it.
type exchange struct {
	mechanism sasl.Mechanism
	session   sasl.Session
	done      bool
}

// Begin implements sarama.SCRAMClient. The mechanism has user and password.
func (x *exchange) Begin(_, _, _ string) error { return nil }

// Step implements sarama.SCRAMClient.
func (x *exchange) Step(challenge string) (string, error) {
	var answer []byte
	var err error
	if x.session == nil {
		x.session, answer, err = x.mechanism.Authenticate(context.Background(), "")
	} else {
		x.done, answer, err = x.session.Challenge([]byte(challenge))
	}
	return string(answer), err
}

// Done implements sarama.SCRAMClient.
func (x *exchange) Done() bool { return x.done }

// tokens reads the token from the first message of the native mechanism.
type tokens struct{ mechanism sasl.Mechanism }

// Token implements sarama.AccessTokenProvider.
func (t tokens) Token() (*sarama.AccessToken, error) {
	_, first, err := t.mechanism.Authenticate(context.Background(), "")
	if err != nil {
		return nil, err
	}
	_, rest, found := bytes.Cut(first, []byte("auth=Bearer "))
	token, _, ended := bytes.Cut(rest, []byte("\x01"))
	if !found || !ended {
		return nil, errors.New("kafkawatermill: the mechanism oauthbearer sends no token")
	}
	return &sarama.AccessToken{Token: string(token)}, nil
}
