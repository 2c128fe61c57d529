package rest

import "github.com/houseful/houseful/fsm"

// appendBooking appends a booking as the API shows it.
func appendBooking(dst []byte, b *fsm.Booking) []byte {
	dst = append(dst, `{"id":"`...)
	dst = b.Ref.AppendText(dst)
	dst = append(dst, `","bookingReference":"`...)
	dst = b.Ref.AppendText(dst)
	dst = appendString(append(dst, `","userId":`...), string(b.User))
	dst = appendStringOrNull(append(dst, `,"userName":`...), b.UserName)
	dst = appendString(append(dst, `,"showId":`...), string(b.Show))
	dst = appendString(append(dst, `,"movieTitle":`...), b.MovieTitle)
	dst = appendString(append(dst, `,"theatreName":`...), b.TheatreName)
	dst = appendString(append(dst, `,"screenName":`...), b.ScreenName)
	dst = appendSeatLabels(append(dst, `,"seatLabels":`...), b.Seats)
	dst = appendInt(append(dst, `,"totalAmount":`...), b.TotalAmount)
	dst = appendString(append(dst, `,"currency":`...), b.Currency)
	dst = append(append(dst, `,"status":"`...), b.Status.String()...)
	dst = appendBookedSeats(append(dst, `","seats":`...), b.Seats)
	dst = appendTime(append(dst, `,"createdAt":`...), b.CreatedAt)
	dst = appendTime(append(dst, `,"updatedAt":`...), b.UpdatedAt)
	dst = appendTime(append(dst, `,"expiresAt":`...), b.ExpiresAt)
	dst = appendTime(append(dst, `,"asOf":`...), b.AsOf)
	dst = appendStringOrNull(append(dst, `,"paymentTransactionReference":`...), b.ConfirmedBy)
	dst = append(append(dst, `,"payment":{"status":"`...), b.Payment.Status.String()...)
	dst = appendInt(append(dst, `","amount":`...), b.Payment.Amount)
	dst = appendInt(append(dst, `,"refundAmount":`...), b.Payment.RefundAmount)
	dst = append(dst, `},"payments":[`...)
	for i := range b.Payments {
		dst = appendPayment(appendComma(dst, i), &b.Payments[i])
	}
	dst = appendUint(append(dst, `],"version":`...), uint64(b.Version))
	dst = appendUint(append(dst, `,"showVersion":`...), b.ShowVersion)
	return append(dst, '}')
}

// appendSeatLabels appends the labels of the seats that remain.
func appendSeatLabels(dst []byte, seats []fsm.BookedSeat) []byte {
	dst = append(dst, '[')
	count := 0
	for i := range seats {
		if seats[i].Remains {
			dst = appendString(appendComma(dst, count), seats[i].Label)
			count++
		}
	}
	return append(dst, ']')
}

func appendBookedSeats(dst []byte, seats []fsm.BookedSeat) []byte {
	dst = append(dst, '[')
	for i := range seats {
		seat := &seats[i]
		dst = appendUint(append(appendComma(dst, i), `{"seatId":`...), uint64(seat.Seat)+1)
		dst = appendString(append(dst, `,"label":`...), seat.Label)
		dst = appendString(append(dst, `,"tier":`...), seat.Tier)
		dst = appendInt(append(dst, `,"price":`...), seat.Price)
		dst = append(append(dst, `,"status":"`...), seat.Status.String()...)
		dst = append(dst, '"', '}')
	}
	return append(dst, ']')
}

func appendPayment(dst []byte, p *fsm.Payment) []byte {
	dst = appendString(append(dst, `{"ref":`...), p.Ref)
	dst = appendString(append(dst, `,"method":`...), p.Method)
	dst = appendInt(append(dst, `,"amount":`...), p.Amount)
	dst = appendString(append(dst, `,"currency":`...), p.Currency)
	dst = append(append(dst, `,"status":"`...), p.Status.String()...)
	dst = appendInt(append(dst, `","refundAmount":`...), p.RefundAmount)
	return append(appendTime(append(dst, `,"at":`...), p.At), '}')
}
