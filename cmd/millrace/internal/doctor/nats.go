package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/natsbus"
)

func (e *examination) nats(ctx context.Context, u *url.URL) {
	var addresses []string
	for host := range strings.SplitSeq(u.Host, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "4222")
		}
		addresses = append(addresses, host)
	}
	if !e.reach(ctx, addresses) {
		return
	}
	// The settings are those that the transport makes of the URL.
	conn, err := natsbus.Connect(e.target.URL, natsbus.Config{Options: []nats.Option{
		nats.Name("millrace-doctor"), nats.Timeout(e.Timeout), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // LastError reports it
	}})
	if err != nil {
		e.natsRefused(strings.Join(addresses, ", "), err)
		return
	}
	defer conn.Close()
	version := conn.ConnectedServerVersion()
	if versionOf(version) < 21400 {
		e.add(Error, "version", fmt.Sprintf("NATS %s is too old", version), "upgrade to 2.14 or newer")
		return
	}
	cluster := conn.ConnectedClusterName()
	e.ok("version", "NATS %s, %s, messages up to %d bytes", version, clusterOf(cluster), conn.MaxPayload())
	js, err := jetstream.New(conn)
	if err != nil {
		e.natsRefused(strings.Join(addresses, ", "), err)
		return
	}
	if !e.natsAccount(ctx, conn, js) {
		return
	}
	if cluster == "" {
		e.add(Warning, "replication", "there is one server: what it has accepted is lost with its disk, and nothing works while it is absent", "three servers in production, and ?replicas=3")
	}
	prefix := u.Query().Get("prefix")
	if prefix == "" {
		prefix = "millrace"
	}
	e.natsStreams(ctx, conn, prefix, cluster != "")
	if _, err := conn.TLSConnectionState(); errors.Is(err, nats.ErrConnectionNotTLS) {
		e.exposed(hostOf(addresses[0]), u.User != nil || u.Query().Has("token"), "turn TLS on in NATS, and use tls://")
	}
}

func clusterOf(name string) string {
	if name == "" {
		return "one server"
	}
	return fmt.Sprintf("a server of the cluster %q", name)
}

func (e *examination) natsRefused(where string, err error) {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		e.add(Error, "authentication", fmt.Sprintf("%s does not let this user in: %s", where, e.said(err)),
			"correct user and password in the URL, percent-encoded; or the token, as nats://token@host; or the file of credentials, ?creds=FILE")
	case errors.Is(err, nats.ErrSecureConnWanted):
		e.add(Error, "tls", "the server does not speak TLS on this port", "turn TLS on in NATS, or use nats:// without tls, ca, cert and key")
	case strings.Contains(err.Error(), "parameter"), strings.Contains(err.Error(), "the URL "), strings.Contains(err.Error(), "prefix is"), strings.Contains(err.Error(), "replicas is"):
		e.add(Error, "url", fmt.Sprintf("the URL cannot be used: %s", e.said(err)), "write nats://user:password@h1:4222,h2:4222/?replicas=3, or tls://host")
	case !e.connecting(where, "ca=FILE", err):
		e.add(Error, "answers", fmt.Sprintf("%s refuses: %s", where, e.said(err)), "is it a NATS server? its log says more")
	}
}
