package kafkabus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

func (s security) validateToken() error {
	switch {
	case s.password() != "" && s.tokenFile != "":
		return errors.New("the URL has a token and parameter \"token_file\"; keep one")
	case s.tokenFile != "":
		_, err := s.tokenOfFile()
		return err
	case s.password() == "" && s.token == nil:
		return errors.New("parameter \"sasl\" is " + oauthBearer + " and there is no token; write kafka://:token@host:9093/, or ?token_file=path, or set Config.Token")
	}
	return nil
}

func (s security) validateAWS() error {
	switch {
	case !s.tls:
		return errors.New("parameter \"sasl\" is " + awsMSKIAM + ", which MSK takes on encrypted connections only; add tls=true")
	case s.user != nil:
		return s.namesUser()
	case s.aws == nil:
		return errors.New("parameter \"sasl\" is " + awsMSKIAM + " and there are no keys; write kafka://id:key@host:9098/, with / + and = of the key percent-encoded, or set Config.AWS")
	}
	return nil
}

// awsKeys returns the keys of the next connection.
func (s security) awsKeys(ctx context.Context) (keys aws.Auth, err error) {
	if s.user != nil {
		keys.AccessKey, keys.SecretKey, keys.SessionToken = s.user.Username(), s.password(), s.sessionToken
		return keys, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if keys.AccessKey, keys.SecretKey, keys.SessionToken, err = s.aws(ctx); err != nil {
		return keys, fmt.Errorf("the keys of sasl=%s: %w", awsMSKIAM, err)
	}
	return keys, nil
}

// currentToken returns the token of the next connection.
func (s security) currentToken(ctx context.Context) (string, error) {
	switch {
	case s.tokenFile != "":
		return s.tokenOfFile()
	case s.password() != "":
		return s.password(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	token, err := s.token(ctx)
	if err != nil {
		return "", fmt.Errorf("the token of sasl=%s: %w", oauthBearer, err)
	}
	return token, nil
}

func (s security) tokenOfFile() (string, error) {
	text, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return "", fmt.Errorf("parameter \"token_file\": %w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return "", fmt.Errorf("parameter \"token_file\": %s is empty", s.tokenFile)
	}
	return string(text), nil
}

// bearer is franz-go's OAUTHBEARER with a token that is looked up for each connection. The
// URL's user, if there is one, is sent as the identity: the broker compares it with the token's.
type bearer struct{ security }

func (b bearer) Name() string { return "OAUTHBEARER" }

func (b bearer) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	token, err := b.currentToken(ctx)
	if err != nil {
		return nil, nil, err
	}
	auth := oauth.Auth{Zid: b.user.Username(), Token: token}
	_, first, err := auth.AsMechanism().Authenticate(ctx, host)
	return verdict{token}, first, err
}

// verdict is the broker's answer: nothing if it accepts the token, otherwise the reason.
type verdict struct{ token string }

func (v verdict) Challenge(answer []byte) (bool, []byte, error) {
	if len(answer) > 0 {
		return false, nil, fmt.Errorf("the broker does not take the token: %s", strings.ReplaceAll(string(answer), v.token, "xxxxx"))
	}
	return true, nil, nil
}
