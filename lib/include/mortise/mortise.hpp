// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MORTISE_HPP
#define MORTISE_MORTISE_HPP

// Everything that a program needs to take locks.

#include "mortise/election.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_gate.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/leader_candidate.hpp"
#include "mortise/lease.hpp"
#include "mortise/lease_set.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/lock_observer.hpp"
#include "mortise/open_store.hpp"
#include "mortise/options.hpp"
#include "mortise/version.hpp"
#include "mortise/with_lock.hpp"

#endif
