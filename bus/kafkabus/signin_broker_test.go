package kafkabus_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// signIn guards a cluster in this process with a SASL mechanism that kfake does not know:
// it answers SaslHandshake and SaslAuthenticate itself, and forwards the requests of
// clients that have signed in.
type signIn struct {
	mechanism string
	tls       *tls.Config
	// check judges a client's first message. A refusal is an error, or for OAUTHBEARER an
	// answer with the reason.
	check func(first []byte) (answer []byte, err error)

	mu    sync.Mutex
	conns []net.Conn
}

// guarded starts a cluster behind s.
func guarded(t *testing.T, s *signIn) *kfake.Cluster {
	t.Helper()
	t.Cleanup(s.drop)
	return fake(t, kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		if err == nil && s.tls != nil {
			l = tls.NewListener(l, s.tls)
		}
		return gate{l, s}, err
	}))
}

// drop closes the connections of all clients.
func (s *signIn) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

type gate struct {
	net.Listener
	s *signIn
}

// Accept returns the inner side of a client's connection.
func (g gate) Accept() (net.Conn, error) {
	client, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g.s.mu.Lock()
	g.s.conns = append(g.s.conns, client)
	g.s.mu.Unlock()
	outer, inner := net.Pipe()
	go func() {
		defer client.Close()
		_, _ = io.Copy(client, outer)
	}()
	go func() {
		defer client.Close()
		defer outer.Close()
		_ = g.s.serve(client, outer)
	}()
	return inner, nil
}

// serve forwards the client's requests until either side ends.
func (s *signIn) serve(client, cluster net.Conn) error {
	signedIn := false
	for {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(client, frame); err != nil {
			return err
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(client, frame[4:]); err != nil {
			return err
		}
		key, version := int16(binary.BigEndian.Uint16(frame[4:])), int16(binary.BigEndian.Uint16(frame[6:]))
		var answer kmsg.Response
		switch req := kmsg.RequestForKey(key).(type) {
		case *kmsg.SASLHandshakeRequest:
			if err := open(req, version, frame); err != nil {
				return err
			}
			resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
			if resp.SupportedMechanisms = []string{s.mechanism}; req.Mechanism != s.mechanism {
				resp.ErrorCode = kerr.UnsupportedSaslMechanism.Code
			}
			answer = resp
		case *kmsg.SASLAuthenticateRequest:
			if err := open(req, version, frame); err != nil {
				return err
			}
			resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			said, err := s.check(req.SASLAuthBytes)
			if resp.SASLAuthBytes = said; err != nil {
				resp.ErrorCode, resp.ErrorMessage = kerr.SaslAuthenticationFailed.Code, kmsg.StringPtr(err.Error())
			}
			signedIn = err == nil && (len(said) == 0 || s.mechanism != "OAUTHBEARER")
			answer = resp
		default:
			if !signedIn && key != kmsg.ApiVersions.Int16() {
				return errors.New("not signed in")
			}
			if _, err := cluster.Write(frame); err != nil {
				return err
			}
			continue
		}
		out := append(make([]byte, 4), frame[8:12]...) // the correlation id
		if answer.IsFlexible() {
			out = append(out, 0)
		}
		out = answer.AppendTo(out)
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		if _, err := client.Write(out); err != nil {
			return err
		}
	}
}

// open reads the request in a frame.
func open(req kmsg.Request, version int16, frame []byte) error {
	body := frame[12:]
	if n := int16(binary.BigEndian.Uint16(body)); n >= 0 { // the client's name
		body = body[n:]
	}
	body = body[2:]
	if req.SetVersion(version); req.IsFlexible() {
		body = body[1:] // no tags
	}
	return req.ReadFrom(body)
}
