E<> forall (i : id_t) Person(i).there
