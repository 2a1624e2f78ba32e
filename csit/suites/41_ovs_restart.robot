*** Settings ***
Documentation       vswitchd is killed and started again while it holds 10,000 flows: it is filled anew as soon as it connects, which it does at once. What an unfinished
...                 restart leaves behind does not hold it back for ever.
Resource            ../resources/coeus.resource
Library             ../libraries/Restarts.py
Suite Setup         Start Two Nodes With A Crowd
Suite Teardown      Stop Lab

*** Test Cases ***
Ten Thousand Flows Are Back With The Switch
    Start Stamped Probes    blue:p1    10.12.0.10    100000
    Sleep    1 s
    End Daemon    1    vswitchd
    ${heard}    ${ready}=    Start Vswitchd And Be Heard    1    5
    ${after}=    Flows Should Be At Least    1    ${10000}
    Should Be Equal    ${after}    ${FLOWS}

A Restart That Was Not Finished Ends
    [Documentation]    Half a minute is left to whoever saves flows and puts them back.
    End Daemon    1    vswitchd
    Hold Back    1
    Start Daemon Of    1    vswitchd
    Sleep    10 s
    Should Be Held Back    1
    Should Be Released    1    40
    Flows Should Be At Least    1    ${10000}
    Ping Should Pass    blue:p1    10.12.0.10    30

And All Is As It Should Be
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes With A Crowd
    Start Lab And Session    2
    Announce Node    1    10.11.0.0/16
    Announce Node    2    10.12.0.0/16
    FOR    ${name}    ${node}    ${address}    IN    p1    1    10.11.0.10    p2    2    10.12.0.10
        Create Pod    ${name}    blue    ${node}    ${address}
        Plug Pod    ${name}    blue    ${node}    ${address}/16    10.1${node}.0.1
    END
    Ping Should Pass    blue:p1    10.12.0.10
    Make Crowd    1    590    blue
    ${flows}=    Flows Should Be At Least    1    ${10000}
    Log    ${flows} flows    console=True
    Set Suite Variable    ${FLOWS}    ${flows}
    Wait For Switches
    Ping Should Pass    blue:p1    10.12.0.10
    Keep Neighbours    blue:p1    blue:p2
