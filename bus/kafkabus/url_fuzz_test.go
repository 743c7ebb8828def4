package kafkabus

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/rawurl"
)

// A URL of Kafka names brokers with ports and settings within their bounds, or is refused
// in an error without its password.
func FuzzURL(f *testing.F) {
	f.Add("", "h1:9092,h2:9092/?partitions=3&sasl=plain")
	f.Add("/x", "h?retention=soon")
	f.Add("", "h:1,i/?replication=0")
	f.Add("", "h/?lag=all&partitioner=murmur2&window=7&sasl=scram-sha-256&tls=true")
	f.Add("", "h/?sasl=oauthbearer&autocreate=false&protocol=consumer")
	f.Add("", "h/?sasl=aws-msk-iam&tls=true&session_token=s3cret")
	f.Fuzz(func(t *testing.T, password, rest string) {
		const mark = "s3cr3t-9q"
		if strings.Contains(rest, mark) || strings.Contains(rest, "ca=") || strings.Contains(rest, "cert=") || strings.Contains(rest, "key=") || strings.Contains(rest, "token_file=") {
			t.Skip() // names files of this machine
		}
		u, err := rawurl.Parse("kafka://u:" + mark + password + "@" + rest)
		if err != nil {
			return
		}
		set, err := parse(u, Config{})
		if err != nil {
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), mark) {
				t.Fatal(err)
			}
			return
		}
		if len(set.brokers) == 0 || set.Partitions < 1 || set.Replication < brokersDefault || set.Window < 0 || set.partition == nil {
			t.Fatalf("%q is %+v", rest, set.Config)
		}
		for _, broker := range set.brokers {
			if _, _, err := net.SplitHostPort(broker); err != nil || strings.Contains(broker, mark) {
				t.Fatalf("%q is the broker %q: %v", rest, broker, err)
			}
		}
	})
}
