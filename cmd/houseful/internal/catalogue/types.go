package catalogue

// File is a catalogue: the objects of each kind, with the API's field names and an id.
type File struct {
	Cities   []City    `yaml:"cities"`
	Movies   []Movie   `yaml:"movies"`
	Theatres []Theatre `yaml:"theatres"`
	Screens  []Screen  `yaml:"screens"`
	Shows    []Show    `yaml:"shows"`
}

// City is the body of PUT /cities/{id}.
type City struct {
	ID       string `yaml:"id" json:"-"`
	Name     string `yaml:"name" json:"name"`
	State    string `yaml:"state" json:"state,omitempty"`
	TimeZone string `yaml:"timeZone" json:"timeZone"`
}

// Movie is the body of PUT /movies/{id}.
type Movie struct {
	ID              string   `yaml:"id" json:"-"`
	Title           string   `yaml:"title" json:"title"`
	Language        string   `yaml:"language" json:"language,omitempty"`
	Genre           string   `yaml:"genre" json:"genre,omitempty"`
	DurationMinutes int      `yaml:"durationMinutes" json:"durationMinutes"`
	Rating          *float64 `yaml:"rating" json:"rating,omitempty"`
}

// Theatre is the body of PUT /theatres/{id}.
type Theatre struct {
	ID      string `yaml:"id" json:"-"`
	Name    string `yaml:"name" json:"name"`
	CityID  string `yaml:"cityId" json:"cityId"`
	Address string `yaml:"address" json:"address,omitempty"`
}

// Screen is the body of PUT /screens/{id}.
type Screen struct {
	ID        string          `yaml:"id" json:"-"`
	TheatreID string          `yaml:"theatreId" json:"theatreId"`
	Name      string          `yaml:"name" json:"name"`
	Rows      []Row           `yaml:"rows" json:"rows"`
	Tiers     map[string]Tier `yaml:"tiers" json:"tiers,omitempty"`
}

// Row is a row of a screen. In seats a comma is an aisle.
type Row struct {
	Row        string              `yaml:"row" json:"row"`
	Tier       string              `yaml:"tier" json:"tier"`
	Seats      string              `yaml:"seats" json:"seats"`
	Attributes map[string][]string `yaml:"attributes" json:"attributes,omitempty"`
	Pairs      []string            `yaml:"pairs" json:"pairs,omitempty"`
}

// Tier is what a screen says about a tier.
type Tier struct {
	MultiplierPercent *int     `yaml:"multiplierPercent" json:"multiplierPercent,omitempty"`
	Perks             []string `yaml:"perks" json:"perks,omitempty"`
}

// Show is the body of PUT /shows/{id}. What is left out takes the server's default; an empty refund policy is one
// that never pays back.
type Show struct {
	ID                 string       `yaml:"id" json:"-"`
	MovieID            string       `yaml:"movieId" json:"movieId"`
	ScreenID           string       `yaml:"screenId" json:"screenId"`
	StartsAt           string       `yaml:"startsAt" json:"startsAt"`
	EndsAt             string       `yaml:"endsAt" json:"endsAt,omitempty"`
	Currency           string       `yaml:"currency" json:"currency"`
	Pricing            Pricing      `yaml:"pricing" json:"pricing"`
	HoldSeconds        *int64       `yaml:"holdSeconds" json:"holdSeconds,omitempty"`
	MaxSeatsPerBooking *int64       `yaml:"maxSeatsPerBooking" json:"maxSeatsPerBooking,omitempty"`
	MaxHoldsPerUser    *int64       `yaml:"maxHoldsPerUser" json:"maxHoldsPerUser,omitempty"`
	SalesOpenAt        string       `yaml:"salesOpenAt" json:"salesOpenAt,omitempty"`
	SalesCloseAt       string       `yaml:"salesCloseAt" json:"salesCloseAt,omitempty"`
	RefundPolicy       []RefundRule `yaml:"refundPolicy" json:"refundPolicy,omitzero"`
}

// Pricing is how a show's prices come about; amounts are in the currency's minor unit.
type Pricing struct {
	Strategy string           `yaml:"strategy" json:"strategy"`
	Amount   *int64           `yaml:"amount" json:"amount,omitempty"`
	Base     map[string]int64 `yaml:"base" json:"base,omitempty"`
	Bands    []Band           `yaml:"bands" json:"bands,omitempty"`
}

// Band is a part of the day, from a local hour on, with the percentage of the base price that holds in it.
type Band struct {
	FromHour int `yaml:"fromHour" json:"fromHour"`
	Percent  int `yaml:"percent" json:"percent"`
}

// RefundRule pays a percentage back until some minutes before the start.
type RefundRule struct {
	MinutesBefore int64 `yaml:"minutesBefore" json:"minutesBefore"`
	Percent       int   `yaml:"percent" json:"percent"`
}
