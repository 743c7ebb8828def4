package payment

import "strings"

// card is one of the gateway's test cards. Only its name is stored.
type card struct{ name, number string }

func (c card) last4() string { return c.number[len(c.number)-4:] }

// cards are the test cards that the simulated gateway knows.
func cards() []card {
	return []card{
		{"approve", "4242424242424242"},
		{"decline", "4000000000000002"},
		{"timeout", "4000000000000341"},
	}
}

// cardOf finds a test card by its number; spaces and dashes between the digits
// do not matter.
func cardOf(number string) (card, error) {
	number = strings.NewReplacer(" ", "", "-", "").Replace(number)
	for _, c := range cards() {
		if c.number == number {
			return c, nil
		}
	}
	return card{}, ErrUnknownCard
}

// cardNamed finds a card by its stored name; a name of another version of the program
// gives a card without a number, which the gateway refuses.
func cardNamed(name string) card {
	for _, c := range cards() {
		if c.name == name {
			return c
		}
	}
	return card{name: name}
}
