"relx.add"() : () -> ()
