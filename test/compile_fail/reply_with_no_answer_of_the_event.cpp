// error: belay: this event does not accept what the reply was given; give it nothing, one alternative of E::answer, a std::optional of one, or E::answer
// prints: gate
// prints: patch
#include "event.hpp"

void f(belay::reply<gate> answer)
{
    answer(patch{"x"});
}
