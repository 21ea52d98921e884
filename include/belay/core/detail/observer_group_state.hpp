#ifndef BELAY_CORE_DETAIL_OBSERVER_GROUP_STATE_HPP
#define BELAY_CORE_DETAIL_OBSERVER_GROUP_STATE_HPP

// What the observers of a group and its drains share.

#include <belay/config.hpp>
#include <belay/core/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace belay::detail {

// One observer at work.
class observer_run {
public:
    virtual ~observer_run() = default;
    virtual void cut() = 0;  // from any thread, also before it has started or after its end
};

class drain_op;

class observer_group_state {
public:
    using run_id = std::uint64_t;  // in the order in which they were notified, from 1

    BELAY_DECL observer_group_state(boost::asio::any_io_executor where, clock& which);

    BELAY_DECL run_id enter(std::weak_ptr<observer_run> run);
    BELAY_DECL void finished(run_id which, bool was_cut);  // tells the drains
    BELAY_DECL void gone(run_id which) noexcept;           // its event loop is going, or has gone

    BELAY_DECL std::size_t running() const;
    BELAY_DECL bool none_up_to(run_id last) const;
    BELAY_DECL run_id cut_all();  // the last one that was cut, whose end may be yet to come
    BELAY_DECL std::size_t cut_so_far() const;

    BELAY_DECL void add(const std::shared_ptr<drain_op>& drain);

    const boost::asio::any_io_executor executor;
    clock& time;

private:
    mutable std::mutex mutex_;
    std::map<run_id, std::weak_ptr<observer_run>> running_;
    run_id last_ = 0;
    std::size_t cut_ = 0;
    std::vector<std::weak_ptr<drain_op>> drains_;
};

}  // namespace belay::detail

#endif
