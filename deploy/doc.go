// Package deploy holds what a running box office is watched with: the configuration
// and the alert rules of Prometheus, and a dashboard for Grafana. There is no code in
// it but the tests that keep these files right.
//
//	file                                    what it is
//	prometheus/prometheus.yml               scrapes a box office on this machine
//	prometheus/alerts.yml                   the alerts, P1 to P3
//	prometheus/alerts_test.yml              cases for promtool test rules
//	grafana/millrace.json                   the dashboard; import it, or provision it
//	grafana/provisioning                    the data source and the dashboard, for compose.yaml
//
//	property                                                       proven by
//	Prometheus takes the configuration and the rules               TestPromtool
//	every alert has a case that rings and one that does not,       TestPromtool, TestEveryAlertHasItsCases
//	at the boundary of its threshold
//	the thresholds and levels are those of the specification       TestThresholds
//	every alert says what to do, and where the runbook is          TestAlertsSayWhatToDo
//	every metric that a rule or a panel asks for is served by the  TestEveryMetricExists
//	box office, with that label, and a rate is one of a counter
//	the dashboard is sound                                         TestDashboard
//	it shows all that it should                                    TestDashboardShows
//	compose.yaml starts them on these files, for this machine      TestCompose
//
// The list of what the box office serves is checked in beside the app that serves it,
// and compared with the running app there, so that these tests need no server. Without
// promtool TestPromtool is skipped, unless MILLRACE_REQUIRE_SERVICES=1.
package deploy
