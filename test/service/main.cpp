// The service as its users meet it: the real binary in a process of its own, over real sockets.
#define BOOST_TEST_MODULE service
#include <boost/test/unit_test.hpp>
