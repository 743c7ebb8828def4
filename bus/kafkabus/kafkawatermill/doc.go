// Package kafkawatermill is ?mode=watermill of kafka://: Watermill's own Kafka adapter
// (watermill-kafka/v3) as a transport. Its members share consumer groups with programs that
// use Watermill alone, so that a fleet moves to package bus one process at a time.
//
//	o := bus.NewOpener(kafkawatermill.Scheme(kafkabus.Config{}, kafkawatermill.Config{}))
//	b, err := o.Open(ctx, "kafka://k1,k2/?mode=watermill")
//
// Without ?mode= the same scheme opens the native transport, package kafkabus, which is
// faster, works on the keys of a partition in parallel, and cannot share a group with
// Watermill's subscriber. docs/migrating.md has the way from one to the other.
//
// Topics, groups and records are Watermill's. The key of a record is event.Key, so messages
// of a key share a partition, as those of the native transport do. The settings are safe:
// acknowledgements of all in-sync replicas, the idempotent producer with one request in
// flight, committed records only, the earliest initial offset. Batches are compressed with
// LZ4, which the protocol of Watermill's defaults (1.0) can read.
//
// The URL is that of package kafkabus: TLS and sign-in (plain, SCRAM, OAUTHBEARER) work, and
// so do partitions, replication, retention, autocreate, client_id and lag. Refused are
// prefix, instance, window, partitioner, session_token, and sasl=aws-msk-iam. Topics are
// made, and lag, topics and messages are shown, by the native transport.
//
//	property                                                     proven by
//	the conformance suites, Watermill's and bustest's            TestConformance
//	a member shares a group with Watermill's own subscriber,
//	takes over and leaves without loss                           TestSharesAGroupWithWatermill
//	Open connects to nothing and names what it refuses           TestURLs
//	connections are encrypted, and sign in                       TestSignIn
//	a message that is too large is refused alone                 TestTooLarge
//
// Durable, ordered per key, consumer groups, replay, broadcast. One message of each
// partition is in hand (bus.Capabilities.OneAtATime): more partitions mean more parallelism,
// and a message that is retried holds up its partition.
//
// # Failure modes
//
// When members come and go, a handler at work is waited for, and the other members wait
// with it. Its acknowledgement is dropped when its session has ended meanwhile, and the
// next owner of the partition handles the message again. Acknowledgements are committed
// each CommitInterval; a crash repeats that much.
//
// Members of a fleet that run with Watermill's default settings lose what these settings
// keep: publishers wait for one replica only, and new groups start at the newest message.
// Members with the protocol of these defaults cannot read what the native transport
// publishes, which is compressed with zstd: raise OverwriteSaramaConfig.Version to 2.1.
package kafkawatermill
