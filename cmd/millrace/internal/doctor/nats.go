package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/fault"
)

func (e *examination) nats(ctx context.Context, u *url.URL) {
	addresses, ok := e.hosts(ctx, u, "4222")
	if !ok {
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
	case fault.Of(err) != fault.Infrastructure: // it is no error of the connection
		e.unusable(err, "write nats://user:password@h1:4222,h2:4222/?replicas=3, or tls://host")
	case !e.connecting(where, "ca=FILE", err):
		e.add(Error, "answers", fmt.Sprintf("%s refuses: %s", where, e.said(err)), "is it a NATS server? its log says more")
	}
}

// natsAccount checks whether the account may store streams, and how much room is left.
func (e *examination) natsAccount(ctx context.Context, conn *nats.Conn, js jetstream.JetStream) bool {
	asking, cancel := e.within(ctx)
	defer cancel()
	account, err := js.AccountInfo(asking)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		e.add(Error, "jetstream", "JetStream is off for this user's account", "turn it on for the account: jetstream: enabled in the server's configuration, or nsc edit account --js-disk-storage")
		return false
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		e.add(Error, "jetstream", "JetStream is off on the server", "start it with JetStream: jetstream {store_dir: …} in its configuration, or nats-server -js")
		return false
	case err != nil && errors.Is(conn.LastError(), nats.ErrPermissionViolation):
		e.add(Error, "authentication", "this user may not use JetStream: "+e.said(conn.LastError()), "allow the user to publish to $JS.API.> and to subscribe to _INBOX.>")
		return false
	case err != nil:
		e.add(Error, "jetstream", fmt.Sprintf("JetStream does not answer: %s", e.said(err)), "if this is a cluster, it has no leader: start most of its servers; nats server report jetstream")
		return false
	}
	tiers := account.Tiers
	if len(tiers) == 0 {
		tiers = map[string]jetstream.Tier{"": account.Tier}
	}
	for _, name := range slices.Sorted(maps.Keys(tiers)) {
		e.natsRoom(name, tiers[name])
	}
	e.ok("jetstream", "JetStream is on, with %d bytes of this account in %d streams", account.Store, account.Streams)
	return true
}

// natsRoom checks the limits of an account, or of one of its tiers.
func (e *examination) natsRoom(tier string, t jetstream.Tier) {
	whose := "the account"
	if tier != "" {
		whose = "the account's tier " + e.quoted(tier)
	}
	const raise = "raise the account's limits: nsc edit account, or jetstream {…} of the account in the server's configuration"
	switch limits := t.Limits; {
	case limits.MaxStore == 0:
		e.add(Error, "limits", whose+" may keep no files: streams cannot be made", raise)
	case limits.MaxStore > 0 && 10*t.Store >= 9*uint64(limits.MaxStore):
		e.add(Warning, "limits", fmt.Sprintf("%s uses %d of %d bytes of storage: when they are full, nothing can be published", whose, t.Store, limits.MaxStore), raise)
	}
	if most := t.Limits.MaxStreams; most > 0 && 10*t.Streams >= 9*most {
		e.add(Warning, "limits", fmt.Sprintf("%s has %d of %d streams: each topic is one", whose, t.Streams, most), raise)
	}
}

// natsStream is the part of a stream's description that is checked.
type natsStream struct {
	Config  jetstream.StreamConfig `json:"config"`
	Cluster *jetstream.ClusterInfo `json:"cluster"`
}

// natsList reads the streams of a prefix: topics, and the bucket of cursors and members.
// missing are those without a leader, which the client's own list omits.
func natsList(ctx context.Context, conn *nats.Conn, prefix string) (streams []natsStream, missing []string, err error) {
	ours := func(name string) bool { return name == "KV_"+prefix || strings.HasPrefix(name, prefix+"+") }
	for offset := 0; ; {
		m, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.LIST", fmt.Appendf(nil, `{"offset":%d}`, offset))
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Total   int                 `json:"total"`
			Limit   int                 `json:"limit"`
			Streams []natsStream        `json:"streams"`
			Missing []string            `json:"missing"`
			Error   *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &page); err != nil {
			return nil, nil, err
		}
		if page.Error != nil {
			return nil, nil, page.Error
		}
		for _, s := range page.Streams {
			if ours(s.Config.Name) && !slices.Contains(page.Missing, s.Config.Name) {
				streams = append(streams, s)
			}
		}
		for _, name := range page.Missing {
			if ours(name) {
				missing = append(missing, name)
			}
		}
		if offset += page.Limit; page.Limit == 0 || offset >= page.Total {
			return streams, missing, nil
		}
	}
}

// natsStreams checks the streams of the transport.
func (e *examination) natsStreams(ctx context.Context, conn *nats.Conn, prefix string, cluster bool) {
	asking, cancel := e.within(ctx)
	defer cancel()
	streams, leaderless, err := natsList(asking, conn, prefix)
	if err != nil {
		e.add(Warning, "topics", fmt.Sprintf("the streams cannot be listed: %s", e.said(err)), "allow the user to publish to $JS.API.STREAM.LIST; in a cluster, start the servers that are absent")
		return
	}
	e.judgeStreams(streams, leaderless, cluster)
	e.ok("topics", "streams of the prefix %s looked at: %d", prefix, len(streams)+len(leaderless))
}

func (e *examination) judgeStreams(streams []natsStream, leaderless []string, cluster bool) {
	var memory, single, short, changed, lagging []string
	for _, s := range streams {
		c := s.Config
		if c.Storage == jetstream.MemoryStorage {
			memory = append(memory, c.Name)
		}
		if cluster && c.Replicas < 2 {
			single = append(single, c.Name)
		}
		if bucket := strings.HasPrefix(c.Name, "KV_"); !bucket {
			if c.MaxAge > 0 || c.MaxMsgs > 0 || c.MaxBytes > 0 || c.MaxMsgsPerSubject > 0 || c.Retention != jetstream.LimitsPolicy {
				short = append(short, c.Name)
			}
			if !c.AllowBatchPublish || !c.AllowDirect {
				changed = append(changed, c.Name)
			}
		}
		if s.Cluster != nil && slices.ContainsFunc(s.Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return p.Offline || !p.Current }) {
			lagging = append(lagging, c.Name)
		}
	}
	e.several(Error, "storage", memory, "kept in memory: a restart of the server loses the messages", "a stream's storage cannot be changed: copy its messages, delete the stream, and restart the processes, which make it again")
	e.several(Error, "replication", single, "one copy only: what is accepted is lost with one disk, and the stream stands while its server is absent", "nats stream edit NAME --replicas 3; new topics by ?replicas=3")
	e.several(Error, "retention", short, "the stream has limits of its own: messages may be discarded that a group has not handled", "remove max-age, max-msgs, max-bytes and max-msgs-per-subject with nats stream edit NAME; the transport prunes by ?retention=")
	e.several(Error, "settings", changed, "batches or direct reads are off: the transport refuses the stream", "nats stream edit NAME --allow-batch --allow-direct")
	e.several(Error, "partitions", leaderless, "no leader: nothing can be published or read", "start most of the servers that keep it; nats server report jetstream")
	e.several(Warning, "partitions", lagging, "copies that lag behind, or whose servers are absent", "start the server that is absent; nats stream info NAME tells which")
}
