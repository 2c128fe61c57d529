package rest

import (
	"context"
	"math"
	"strconv"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fastjson"

	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

func (s *Server) catalogueRoutes() []Route {
	return []Route{
		{Name: "putCity", Method: "PUT", Pattern: apiBase + "/cities/{id}", Role: RoleStaff, Handle: s.putCity},
		{Name: "getCity", Method: "GET", Pattern: apiBase + "/cities/{id}", Role: RolePublic, Handle: s.getCity},
		{Name: "listCities", Method: "GET", Pattern: apiBase + "/cities", Role: RolePublic, Handle: s.listCities},
		{Name: "listMoviesOfCity", Method: "GET", Pattern: apiBase + "/cities/{id}/movies", Role: RolePublic, Handle: s.listMoviesOfCity},
		{Name: "listTheatresOfCity", Method: "GET", Pattern: apiBase + "/cities/{id}/theatres", Role: RolePublic, Handle: s.listTheatresOfCity},
		{Name: "putMovie", Method: "PUT", Pattern: apiBase + "/movies/{id}", Role: RoleStaff, Handle: s.putMovie},
		{Name: "getMovie", Method: "GET", Pattern: apiBase + "/movies/{id}", Role: RolePublic, Handle: s.getMovie},
		{Name: "searchMovies", Method: "GET", Pattern: apiBase + "/movies", Role: RolePublic, Handle: s.searchMovies},
		{Name: "putTheatre", Method: "PUT", Pattern: apiBase + "/theatres/{id}", Role: RoleStaff, Handle: s.putTheatre},
		{Name: "getTheatre", Method: "GET", Pattern: apiBase + "/theatres/{id}", Role: RolePublic, Handle: s.getTheatre},
		{Name: "putScreen", Method: "PUT", Pattern: apiBase + "/screens/{id}", Role: RoleStaff, Handle: s.putScreen},
		{Name: "getScreen", Method: "GET", Pattern: apiBase + "/screens/{id}", Role: RolePublic, Handle: s.getScreen},
		{Name: "putShow", Method: "PUT", Pattern: apiBase + "/shows/{id}", Role: RoleStaff, Handle: s.putShow},
		{Name: "getShow", Method: "GET", Pattern: apiBase + "/shows/{id}", Role: RolePublic, Handle: s.getShow},
		{Name: "browseShows", Method: "GET", Pattern: apiBase + "/shows", Role: RolePublic, Handle: s.browseShows},
	}
}

// The fields that a client may write.
var (
	cityFields    = []string{"name", "state", "timeZone"}
	movieFields   = []string{"title", "language", "genre", "durationMinutes", "rating"}
	theatreFields = []string{"name", "cityId", "address"}
)

func (s *Server) putCity(c *Call) error {
	id, err := c.pathID(0)
	if err != nil {
		return err
	}
	o, err := c.body(cityFields)
	if err != nil {
		return err
	}
	city, err := readCity(id, &o)
	if err != nil {
		return err
	}
	return put(c, s.node.PutCity, city, appendCity)
}

func readCity(id string, o *object) (*wire.City, error) {
	city := &wire.City{
		Id: id, Name: o.text("name", meta.NameBytesMax), State: o.optionalText("state", meta.NameBytesMax),
		TimeZone: o.text("timeZone", meta.NameBytesMax),
	}
	return city, o.problem()
}

func (s *Server) putMovie(c *Call) error {
	id, err := c.pathID(0)
	if err != nil {
		return err
	}
	o, err := c.body(movieFields)
	if err != nil {
		return err
	}
	movie, err := readMovie(id, &o)
	if err != nil {
		return err
	}
	return put(c, s.node.PutMovie, movie, appendMovie)
}

func readMovie(id string, o *object) (*wire.Movie, error) {
	movie := &wire.Movie{
		Id: id, Title: o.text("title", meta.NameBytesMax), Language: o.optionalText("language", meta.NameBytesMax),
		Genre: o.optionalText("genre", meta.NameBytesMax), DurationMinutes: uint32(o.integer("durationMinutes", 1, meta.DurationMinutesMax)),
	}
	if value := o.get("rating"); value != nil {
		hundredths, ok := ratingOf(value)
		if !ok {
			o.fail("rating", "must be 0 to 10 with at most two decimals")
		}
		movie.RatingHundredths = &hundredths
	}
	return movie, o.problem()
}

// ratingOf reads a rating of 0 to 10 in hundredths.
func ratingOf(value *fastjson.Value) (hundredths uint32, ok bool) {
	if value.Type() != fastjson.TypeNumber {
		return 0, false
	}
	rating, err := value.Float64()
	if err != nil || !(rating >= 0 && rating <= meta.RatingHundredthsMax/100) {
		return 0, false
	}
	rounded := math.Round(rating * 100)
	return uint32(rounded), math.Abs(rating*100-rounded) < 1e-9
}

func (s *Server) putTheatre(c *Call) error {
	id, err := c.pathID(0)
	if err != nil {
		return err
	}
	o, err := c.body(theatreFields)
	if err != nil {
		return err
	}
	theatre, err := readTheatre(id, &o)
	if err != nil {
		return err
	}
	return put(c, s.node.PutTheatre, theatre, s.appendTheatre)
}

func readTheatre(id string, o *object) (*wire.Theatre, error) {
	theatre := &wire.Theatre{
		Id: id, Name: o.text("name", meta.NameBytesMax), CityId: o.id("cityId"), Address: o.optionalText("address", meta.AddressBytesMax),
	}
	return theatre, o.problem()
}

// problem gives what is wrong with an object as an error, nil when nothing is.
func (o *object) problem() error {
	if o.err == nil {
		return nil
	}
	return o.err
}

// put writes an object of the catalogue and answers with it: 201 when it is new, 200 when it replaced one.
func put[T any](c *Call, write func(context.Context, T) (bool, error), value T, encode func([]byte, T) []byte) error {
	body := encode(nil, value) // first: the value is the catalogue's afterwards
	created, err := write(c, value)
	if err != nil {
		return catalogueError(err)
	}
	return c.answer(putStatus(created), body)
}

func putStatus(created bool) int {
	if created {
		return fasthttp.StatusCreated
	}
	return fasthttp.StatusOK
}

func (s *Server) getCity(c *Call) error {
	return get(c, s.node.City, errNoCity, appendCity)
}

func (s *Server) getMovie(c *Call) error {
	return get(c, s.node.Movie, errNoMovie, appendMovie)
}

func (s *Server) getTheatre(c *Call) error {
	return get(c, s.node.Theatre, errNoTheatre, s.appendTheatreWithScreens)
}

func (s *Server) getScreen(c *Call) error {
	return get(c, s.node.Screen, errNoScreen, appendScreen)
}

// get answers with the object of the catalogue that the path names.
func get[T any](c *Call, read func(string) (T, bool), missing func() *apiError, encode func([]byte, T) []byte) error {
	id, err := c.pathID(0)
	if err != nil {
		return err
	}
	value, ok := read(id)
	if !ok {
		if err := c.server.node.Ready(); err != nil { // before that the catalogue may not know yet what it has
			return err
		}
		return missing()
	}
	return c.answer(fasthttp.StatusOK, encode(c.buffer(), value))
}

func appendCity(dst []byte, city *wire.City) []byte {
	dst = appendString(append(dst, `{"id":`...), city.Id)
	dst = appendString(append(dst, `,"name":`...), city.Name)
	dst = appendStringOrNull(append(dst, `,"state":`...), city.State)
	dst = appendString(append(dst, `,"timeZone":`...), city.TimeZone)
	return append(dst, '}')
}

func appendMovie(dst []byte, movie *wire.Movie) []byte {
	dst = appendString(append(dst, `{"id":`...), movie.Id)
	dst = appendString(append(dst, `,"title":`...), movie.Title)
	dst = appendStringOrNull(append(dst, `,"language":`...), movie.Language)
	dst = appendStringOrNull(append(dst, `,"genre":`...), movie.Genre)
	dst = appendUint(append(dst, `,"durationMinutes":`...), uint64(movie.DurationMinutes))
	dst = append(dst, `,"rating":`...)
	if movie.RatingHundredths == nil {
		return append(dst, "null}"...)
	}
	dst = strconv.AppendFloat(dst, float64(*movie.RatingHundredths)/100, 'f', -1, 64)
	return append(dst, '}')
}

func (s *Server) appendTheatre(dst []byte, theatre *wire.Theatre) []byte {
	return append(s.appendTheatreFields(dst, theatre), '}')
}

// appendTheatreFields leaves the object open.
func (s *Server) appendTheatreFields(dst []byte, theatre *wire.Theatre) []byte {
	dst = appendString(append(dst, `{"id":`...), theatre.Id)
	dst = appendString(append(dst, `,"name":`...), theatre.Name)
	dst = appendString(append(dst, `,"cityId":`...), theatre.CityId)
	dst = appendStringOrNull(append(dst, `,"address":`...), theatre.Address)
	zone := ""
	if city, ok := s.node.City(theatre.CityId); ok {
		zone = city.TimeZone
	}
	return appendStringOrNull(append(dst, `,"timeZone":`...), zone)
}

// appendTheatreWithScreens lists up to PageMax screens, which is more than any house has.
func (s *Server) appendTheatreWithScreens(dst []byte, theatre *wire.Theatre) []byte {
	dst = append(s.appendTheatreFields(dst, theatre), `,"screens":[`...)
	page, err := s.node.ScreensOfTheatre(theatre.Id, "", PageMax)
	if err != nil {
		return append(dst, `]}`...) // only a missing theatre is an error, and this one is there
	}
	for i, screen := range page.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendScreenSummary(dst, screen)
	}
	return append(dst, `]}`...)
}

// appendScreenSummary writes a screen without its rows.
func appendScreenSummary(dst []byte, screen *wire.Screen) []byte {
	dst = appendString(append(dst, `{"id":`...), screen.Id)
	dst = appendString(append(dst, `,"name":`...), screen.Name)
	dst = appendUint(append(dst, `,"seatCount":`...), uint64(seatCount(screen.Layout)))
	return append(dst, '}')
}
