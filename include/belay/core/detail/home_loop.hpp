#ifndef BELAY_CORE_DETAIL_HOME_LOOP_HPP
#define BELAY_CORE_DETAIL_HOME_LOOP_HPP

// Where things are destroyed that other threads have used: on an executor, while its event loop lives.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace belay::detail {

class home_loop {
public:
    static std::shared_ptr<home_loop> make(const boost::asio::any_io_executor& executor)
    {
        auto made = std::make_shared<home_loop>(executor);
        boost::asio::use_service<end_of_loop>(
            boost::asio::query(executor, boost::asio::execution::context))
            .tell(made);
        return made;
    }

    explicit home_loop(const boost::asio::any_io_executor& executor) : executor_(executor) {}

    // From any thread: what is the last owner of something is destroyed there; here, if the loop is gone.
    void take_back(std::shared_ptr<const void> owner) noexcept
    {
        const std::lock_guard lock(mutex_);  // the loop is not destroyed meanwhile
        if (!executor_) return;
        try {
            boost::asio::post(*executor_, [owner = std::move(owner)]() mutable { owner.reset(); });
        } catch (...) {
            // Without memory for the way back, it is destroyed here.
        }
    }

private:
    // Hears of the end of an event loop. It also keeps the executors until then, since some may not outlive
    // the loop.
    class end_of_loop final : public boost::asio::execution_context::service {
    public:
        using key_type = end_of_loop;

        static inline boost::asio::execution_context::id id;

        explicit end_of_loop(boost::asio::execution_context& loop) : service(loop) {}

        void tell(std::shared_ptr<home_loop> one)
        {
            const std::lock_guard lock(mutex_);
            std::erase_if(homes_, [](const auto& other) { return other.use_count() == 1; });
            homes_.push_back(std::move(one));
        }

    private:
        void shutdown() noexcept override
        {
            const std::lock_guard lock(mutex_);
            for (const auto& one : homes_) {
                const std::lock_guard lock_one(one->mutex_);
                one->executor_.reset();
            }
        }

        std::mutex mutex_;
        std::vector<std::shared_ptr<home_loop>> homes_;
    };

    std::mutex mutex_;
    std::optional<boost::asio::any_io_executor> executor_;
};

// An owner that other threads use, and that goes back when they are done.
template <class T>
class homing {
public:
    homing(std::shared_ptr<T> owner, std::shared_ptr<home_loop> home) noexcept
        : owner_(std::move(owner)), home_(std::move(home))
    {}
    homing(homing&&) noexcept = default;
    homing& operator=(homing&&) = delete;
    ~homing()
    {
        if (owner_) home_->take_back(std::move(owner_));
    }

    T* operator->() const noexcept { return owner_.get(); }

private:
    std::shared_ptr<T> owner_;
    std::shared_ptr<home_loop> home_;
};

}  // namespace belay::detail

#endif
