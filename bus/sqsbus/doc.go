// Package sqsbus is the transport sqs://: Amazon SQS with FIFO or standard queues, and
// other servers with the protocol of SQS, such as ElasticMQ. It is for notices to programs
// outside, and for teams that already run on SQS. It is also sns://, Amazon SNS with a
// queue of SQS for each consumer group.
//
//	b, err := bus.Open(ctx, "sqs://eu-central-1", sqsbus.Scheme(sqsbus.Config{}))
//	b, err = bus.Open(ctx, "sns://eu-central-1", sqsbus.Scheme(sqsbus.Config{}))
//
// The host is the region; credentials are those that the AWS tools find, or
// sqs://key:secret@region. Parameters:
//
//	session_token=     of a key and secret that expire
//	role=              a role to assume with the credentials: arn:aws:iam::123456789012:role/name
//	external_id=       the external id that the role's trust policy requires
//	endpoint=          another server, e.g. http://127.0.0.1:9324; on sns:// it has both
//	cacertfile=        a PEM file: an authority to trust beside the system's, for an https:// endpoint
//	fifo=true          with false, topics and queues are standard ones: see below
//	prefix=            of the names of all queues and topics
//	visibility=30s     how long a killed process keeps the messages that it has received
//	wait=2s            how long a request waits on an empty queue; Close waits too
//	retention=336h     of queues that were not declared
//	maxbytes=262144    the largest message; SQS takes up to 1048576, SNS no more than this
//
// # Guarantees
//
//	property                                                      proven by
//	the conformance suites, Watermill's and bustest's             TestConformance, TestStandardConformance
//	message group = key, deduplication id = message id            TestWireFormat
//	published twice within five minutes a message is there once;
//	redriven, edited or moved by a redrive it is another message,
//	and so are the dead letters of two groups                     TestDeduplication,
//	                                                              bustest RedriveBehindManyOfItsKey
//	any bytes pass, too many are refused with their number        TestPayloads, TestEncodeDecode
//	order per key over instances that come and go                 TestOrderOverInstances
//	a handler may take longer than the visibility timeout, also
//	while SQS does not answer a request to delete messages        TestVisibilityIsExtended, TestAHangingDeleteTakesNothingBack
//	a source that is cut off loses its messages, contexts end     TestTakenBack, TestManyMessagesAreTakenBackInTime
//	later messages of the key of a lost one come again behind it  TestLaterMessagesOfALostOneAreHandedBack
//	an entry that SQS throttles is sent again, and its message is
//	not at fault, though SQS calls that a fault of the sender     TestThrottledEntriesAreSentAgain,
//	                                                              TestAThrottledMessageIsNotAtFault
//	Close waits for no answer that does not come                  TestAHangingDeleteTakesNothingBack,
//	                                                              TestCloseDespiteAHangingRequest
//	a lost answer costs no time: its messages are fetched again,
//	or handed back by Close                                       TestLostAnswer, TestLostAnswerIsHandedBack
//	the end of a message's context ends Publish                   TestDeadlineEndsPublish
//	an unavailable server is infrastructure, and work resumes     TestServerAway, TestUnreachable
//	a second group is refused                                     TestSecondGroup
//	topics never share a queue unnoticed                          TestTopicNames
//	keys and ids of any characters                                TestOddKeys
//	a standard queue takes ten messages in a request, of any
//	keys, and has no group or deduplication id                    TestRounds, TestStandardWireFormat
//	FIFO and standard queues of one prefix are apart              TestKindsAreApart
//	a session token goes with each request, a role is assumed
//	and assumed again before its keys end                         TestSessionToken, TestRole
//	TLS works, and its errors name the cause                      TestTLS
//	errors in a URL are reported without its secrets              TestURLErrors, TestCredentialErrors
//	sns:// passes the conformance suites                          TestSNSConformance, TestSNSStandardConformance
//	a group's queue receives messages as they were published      TestSNSWireFormat
//	one publish reaches the groups of all processes               TestSNSBroadcast
//	a queue lets its topic send, and keeps its other rules        TestAllowing
//	existing topics, queues and subscriptions are used            TestSNSTakesWhatIsThere
//	credentials that may not create topics can publish            TestSNSPublishOnly
//	a topic that was deleted is created again                     TestSNSTopicIsDeleted
//	groups never share a queue unnoticed                          TestSNSNames, TestGroupQueueNames
//
// The tests of sqs:// run on ElasticMQ, and those of sns:// on a stand-in for SNS before
// ElasticMQ (package internal/transporttest/snstest). Neither has been tried on Amazon itself.
//
// Durable, ordered per key, individual acknowledgements. On sqs:// there are no consumer
// groups, and no replay: a topic is one queue, {prefix}{topic}.fifo with dots as dashes,
// and acknowledged messages are deleted. A second group of a topic would take messages from
// the first, so it is refused, as far as one process can see. The
// redrive group is allowed beside the first, for dead letters.
//
// # Order
//
// While a reader has messages of a key, SQS delivers no others of that key. It delivers ten
// at most, so ten is also the limit of one key's messages in a batch. Publish puts one
// message of a key into a request, because SQS may accept a later entry of a request and
// refuse an earlier one: ten keys share a request, and a key's messages go one after the other.
//
// # SNS
//
// On sns:// a topic is the topic {prefix}{topic}.fifo of SNS, and each consumer group has a
// queue {prefix}{topic}-{group}.fifo, with dots as dashes; a name of more than 80
// characters is cut and ends in a hash. The queue is subscribed with raw message delivery,
// and its policy lets that topic send. Declare creates all of them, and so does the first
// use. Messages, order, deduplication, acknowledgements and dead letters are those of
// sqs://, and bus/driver.RedriveGroup is a group like any other. One publish reaches every
// existing group, in any process. A later group receives the messages published from then
// on; a message that is published without a group is lost. Runners declare their groups
// before they publish. Start a program that only publishes after its consumers have run once.
//
// # Standard queues
//
// With fifo=false a topic is the standard queue {prefix}{topic}, on sns:// the standard
// topic of that name with standard queues. It handles far more messages a second than a
// FIFO queue. In return SQS keeps no order of keys, delivers a message more than once now
// and then, and does not recognise one that is published twice: handlers must tolerate
// both, for example with package idempotency. In Capabilities, OrderedPerKey is false, and
// LocksKeys too, so a batch can have any number of one key. The engine still handles one
// message of a key at a time in a process, but not over several processes. When a call of
// Publish fails, later messages of a key can be published and earlier ones not. Messages of
// a lost answer are delivered again when their visibility ends. Everything else is as with
// FIFO queues. FIFO and standard queues have different names: to change from one to the
// other, let the consumers empty the old queue first.
//
// # Messages
//
// The body is the payload and the attributes are the metadata, as Watermill's SQS writes
// them, if SQS accepts them: text without control characters, and up to eight entries of
// metadata. Other payloads are in base64, other metadata is in one attribute; payloads over
// the limit are compressed by gzip. The attribute _millrace_encoding names the encoding.
// Keys and ids that SQS does not accept are replaced by their SHA-256.
//
// # Failure modes
//
// SQS deletes messages after their retention, 14 days at most, whether they were read or
// not. A killed process keeps the messages that it has received, and so their keys, for the
// visibility timeout. After an error of Publish the messages may be there or not:
// publishing them again within five minutes leaves one of each.
//
// Two messages with one id within five minutes are one message to SQS, even if they differ.
//
// Lag is Amazon's approximation, for the topics and groups that this process has declared
// or subscribed to, without an age.
//
// SNS answers before the queues have a message: it is durable then, and a group receives it
// a moment later. A new subscription may take effect on Amazon after some seconds, and a
// policy that is added to an existing queue after a minute: messages published before that
// may miss the group. While SQS is unavailable, SNS retries for 23 days. When a queue is
// gone, or its policy no longer lets the topic send, SNS drops the message, and the
// publisher gets no error. Redriving a dead letter publishes it for all groups of its
// topic; a handler that had succeeded receives it again. A topic that is deleted takes its
// subscriptions with it: the next Publish creates a topic without groups, and Declare, or a
// restart of the consumers, subscribes them again. If queues are encrypted with a key of
// your own, the key's policy must let sns.amazonaws.com use it.
//
// # Permissions
//
//	to publish               sqs:GetQueueUrl, ListQueueTags, SendMessage
//	to consume               sqs:GetQueueUrl, ListQueueTags, ReceiveMessage, DeleteMessage, ChangeMessageVisibility
//	to create queues         sqs:CreateQueue, TagQueue; SetQueueAttributes to change a retention
//	lag, Ping, Topics        sqs:GetQueueAttributes, ListQueues
//	to publish on sns://     sns:Publish, and ListTopics and ListTagsForResource, or those to create topics
//	to consume on sns://     also sns:Subscribe and sqs:GetQueueAttributes; sqs:SetQueueAttributes and
//	                         sns:SetSubscriptionAttributes if an existing queue lacks the policy,
//	                         or its subscription is not raw
//	to create topics         sns:CreateTopic, TagResource, ListTagsForResource
//	Ping and Topics          sns:ListTopics, ListTagsForResource
//
// With role= these are the role's; the credentials need sts:AssumeRole on the role, whose
// trust policy must name them.
package sqsbus
