// Package kafkawatermill is ?mode=watermill of kafka://: Watermill's own Kafka adapter
// (watermill-kafka/v3) as a transport. Its members share consumer groups with programs that
// use Watermill alone, so that a fleet moves to package bus one process at a time.
//
//	b, err := bus.Open(ctx, "kafka://k1,k2/?mode=watermill", kafkawatermill.Scheme(kafkabus.Config{}, kafkawatermill.Config{}))
//
// Without ?mode= the same scheme opens the native transport, package kafkabus, which is
// faster, handles the keys of a partition in parallel, and cannot share a group with
// Watermill's subscriber. docs/migrating.md describes how to move from one to the other.
//
// Topics, groups and records are Watermill's. The key of a record is event.Key, so messages
// of a key share a partition, as those of the native transport do. The settings are safe:
// acknowledgements of all in-sync replicas, the idempotent producer with one request in
// flight, committed records only, the earliest initial offset. Batches are compressed with
// LZ4, which the protocol of Watermill's defaults (1.0) can read.
//
// The URL is that of package kafkabus: TLS and sign-in (plain, SCRAM, OAUTHBEARER) work,
// and so do partitions, replication, retention, autocreate, client_id and lag. Open refuses
// prefix, instance, window, partitioner, session_token, and sasl=aws-msk-iam. The native
// transport creates topics, and lists lag, topics and messages.
//
//	property                                                     proven by
//	the conformance suites, Watermill's and bustest's            TestConformance
//	a member shares a group with Watermill's own subscriber,
//	takes over and leaves without loss                           TestSharesAGroupWithWatermill
//	Open does not connect, and names the parameters it refuses   TestURLs
//	connections are encrypted, and sign in                       TestSignIn
//	a message that is too large is refused alone                 TestTooLarge
//
// Durable, ordered per key, consumer groups, replay, broadcast. One message of each
// partition is in flight (driver.Capabilities.OneAtATime): more partitions mean more
// parallelism, and a message that is retried delays its partition.
//
// # Failure modes
//
// When members come and go, the other members wait until handlers at work return. If a
// member's session ends before its handler returns, the acknowledgement is dropped, and the
// next owner of the partition handles the message again. Acknowledgements are committed each
// CommitInterval; a crash repeats that much.
//
// Members of a fleet with Watermill's default settings do not have these guarantees: their
// publishers wait for one replica only, and their new groups start at the newest message.
// Members with the protocol of these defaults cannot read messages of the native transport,
// which are compressed with zstd: raise OverwriteSaramaConfig.Version to 2.1.
package kafkawatermill
