const form = document.getElementById("form");
const message = document.getElementById("message");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  message.textContent = "";
  try {
    const response = await fetch("/api/v1/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token: document.getElementById("token").value }),
    });
    if (response.ok) location.reload();
    else message.textContent = (await response.json()).error.message;
  } catch {
    message.textContent = "the server does not answer";
  }
});
