package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// hosts returns the addresses of the URL's servers, and whether one of them accepted a connection.
func (e *examination) hosts(ctx context.Context, u *url.URL, port string) (addresses []string, ok bool) {
	addresses, err := kit.Hosts(u, port)
	if err != nil {
		e.unusable(err, "correct the host in the URL")
		return nil, false
	}
	return addresses, e.reach(ctx, addresses)
}

// reach connects to each address and disconnects. It reports whether one of them accepted
// the connection, and adds findings for the others.
func (e *examination) reach(ctx context.Context, addresses []string) bool {
	type unreachable struct{ text, fix string }
	var away []unreachable
	for _, address := range addresses {
		ctx, cancel := context.WithTimeout(ctx, e.Timeout)
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		cancel()
		if err == nil {
			_ = conn.Close() // it was opened only as a check
			continue
		}
		text, fix := e.network(address, err)
		away = append(away, unreachable{text, fix})
	}
	level := Warning // other addresses work
	if len(away) == len(addresses) {
		level = Error
	}
	for _, a := range away {
		e.add(level, "reachable", a.text, a.fix)
	}
	return level == Warning
}

// network returns why an address cannot be reached.
func (e *examination) network(address string, err error) (text, fix string) {
	var name *net.DNSError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("the name %q is unknown", hostOf(address)), "correct the host in the URL, or the name service (DNS, /etc/hosts) of this machine"
	case errors.As(err, &name):
		return fmt.Sprintf("the name %q cannot be looked up: the name service does not answer", hostOf(address)), "check the name service (DNS) of this machine"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on " + address, "start the server, or correct host and port; one that listens on 127.0.0.1 alone is not seen from other machines"
	case isTimeout(err):
		return fmt.Sprintf("%s does not answer within %s", address, e.Timeout), "the machine is down, or a firewall drops what is sent there"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to " + address, "check the network between here and there, and the address"
	}
	return fmt.Sprintf("%s cannot be reached: %s", address, e.said(err)), "correct host and port in the URL"
}

// silent reports a server that accepts a connection and does not answer.
func (e *examination) silent(where string) {
	e.add(Error, "answers", fmt.Sprintf("%s takes connections and says nothing for %s", where, e.Timeout),
		"something else listens there, a proxy whose server is away, or a server that is overloaded; or it does not speak TLS and the URL asks for it")
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &network) && network.Timeout()
}

// connecting reports errors that are common to every driver's connect; it returns whether
// it knew the error. caParameter is the URL's parameter for an authority to trust.
func (e *examination) connecting(where, caParameter string, err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &authority):
		e.add(Error, "tls", "the server's certificate comes from an authority that this machine does not know",
			"give the authority's certificate by "+caParameter+" in the URL")
	case errors.As(err, &host):
		e.add(Error, "tls", "the server's certificate is for another name: "+e.quoted(host.Error()), "connect by a name that the certificate has")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.add(Error, "tls", "the server's certificate is out of date: "+e.quoted(invalid.Error()), "renew it; or this machine's clock is wrong")
	case errors.As(err, &invalid):
		e.add(Error, "tls", "the server's certificate is not valid: "+e.quoted(invalid.Error()), "replace the certificate")
	case errors.As(err, &record):
		e.add(Error, "tls", "the server does not speak TLS on this port", "use the port with TLS, or take TLS out of the URL")
	case errors.As(err, &alert):
		e.add(Error, "tls", "the server refuses the TLS handshake: "+e.quoted(alert.Error()), "it may want a client certificate, or other versions of TLS")
	case isTimeout(err):
		e.silent(where)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		e.add(Error, "answers", where+" hangs up without an answer",
			"another program listens there, or it wants TLS and the URL does not, or the other way round; the server's log says more")
	default:
		return false
	}
	return true
}

// within bounds one request.
func (e *examination) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.Timeout)
}

// exposed warns of a password that travels unencrypted.
func (e *examination) exposed(host string, password bool, fix string) {
	if !password || isLocal(host) {
		return
	}
	e.add(Warning, "tls", "the connection is not encrypted: everybody between here and there can read the password and the data", fix)
}

func isLocal(host string) bool {
	if host == "localhost" || len(host) > 0 && host[0] == '/' {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// crowded warns of connections that will soon be exhausted.
func (e *examination) crowded(used, most int, fix string) {
	if most > 0 && 10*used >= 9*most {
		e.add(Warning, "connections", fmt.Sprintf("%d of %d connections are in use", used, most), fix)
	}
}
